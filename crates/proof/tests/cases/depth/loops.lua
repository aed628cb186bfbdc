-- Loops forty deep.
-- frames: udp tcp tls
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n, s = #pkt, 0
  for i0 = 1, n - n + 1 do local x0 = n + i0
    for i1 = 1, n - n + 1 do local x1 = n + i1
      for i2 = 1, n - n + 1 do local x2 = n + i2
        for i3 = 1, n - n + 1 do local x3 = n + i3
          for i4 = 1, n - n + 1 do local x4 = n + i4
            for i5 = 1, n - n + 1 do local x5 = n + i5
              for i6 = 1, n - n + 1 do local x6 = n + i6
                for i7 = 1, n - n + 1 do local x7 = n + i7
                  for i8 = 1, n - n + 1 do local x8 = n + i8
                    for i9 = 1, n - n + 1 do local x9 = n + i9
                      for i10 = 1, n - n + 1 do local x10 = n + i10
                        for i11 = 1, n - n + 1 do local x11 = n + i11
                          for i12 = 1, n - n + 1 do local x12 = n + i12
                            for i13 = 1, n - n + 1 do local x13 = n + i13
                              for i14 = 1, n - n + 1 do local x14 = n + i14
                                for i15 = 1, n - n + 1 do local x15 = n + i15
                                  for i16 = 1, n - n + 1 do local x16 = n + i16
                                    for i17 = 1, n - n + 1 do local x17 = n + i17
                                      for i18 = 1, n - n + 1 do local x18 = n + i18
                                        for i19 = 1, n - n + 1 do local x19 = n + i19
                                          for i20 = 1, n - n + 1 do local x20 = n + i20
                                            for i21 = 1, n - n + 1 do local x21 = n + i21
                                              for i22 = 1, n - n + 1 do local x22 = n + i22
                                                for i23 = 1, n - n + 1 do local x23 = n + i23
                                                  for i24 = 1, n - n + 1 do local x24 = n + i24
                                                    for i25 = 1, n - n + 1 do local x25 = n + i25
                                                      for i26 = 1, n - n + 1 do local x26 = n + i26
                                                        for i27 = 1, n - n + 1 do local x27 = n + i27
                                                          for i28 = 1, n - n + 1 do local x28 = n + i28
                                                            for i29 = 1, n - n + 1 do local x29 = n + i29
                                                              for i30 = 1, n - n + 1 do local x30 = n + i30
                                                                for i31 = 1, n - n + 1 do local x31 = n + i31
                                                                  for i32 = 1, n - n + 1 do local x32 = n + i32
                                                                    for i33 = 1, n - n + 1 do local x33 = n + i33
                                                                      for i34 = 1, n - n + 1 do local x34 = n + i34
                                                                        for i35 = 1, n - n + 1 do local x35 = n + i35
                                                                          for i36 = 1, n - n + 1 do local x36 = n + i36
                                                                            for i37 = 1, n - n + 1 do local x37 = n + i37
                                                                              for i38 = 1, n - n + 1 do local x38 = n + i38
                                                                                for i39 = 1, n - n + 1 do local x39 = n + i39
                                                                                  s = s + x0 * i0 + x1 * i1 + x2 * i2 + x3 * i3 + x4 * i4 + x5 * i5 + x6 * i6 + x7 * i7 + x8 * i8 + x9 * i9 + x10 * i10 + x11 * i11 + x12 * i12 + x13 * i13 + x14 * i14 + x15 * i15 + x16 * i16 + x17 * i17 + x18 * i18 + x19 * i19 + x20 * i20 + x21 * i21 + x22 * i22 + x23 * i23 + x24 * i24 + x25 * i25 + x26 * i26 + x27 * i27 + x28 * i28 + x29 * i29 + x30 * i30 + x31 * i31 + x32 * i32 + x33 * i33 + x34 * i34 + x35 * i35 + x36 * i36 + x37 * i37 + x38 * i38 + x39 * i39
                                                                                end
                                                                              end
                                                                            end
                                                                          end
                                                                        end
                                                                      end
                                                                    end
                                                                  end
                                                                end
                                                              end
                                                            end
                                                          end
                                                        end
                                                      end
                                                    end
                                                  end
                                                end
                                              end
                                            end
                                          end
                                        end
                                      end
                                    end
                                  end
                                end
                              end
                            end
                          end
                        end
                      end
                    end
                  end
                end
              end
            end
          end
        end
      end
    end
  end
  print(s)
end)
