"""Streams that are refused by a RST which somebody on the way has made: whether it is whole, and how long after the SYN it has come, by the kernel's clock."""

import packets
import socket
import struct

SYN, RST_ACK, RST = 0x02, 0x14, 0x04
# SO_TIMESTAMPNS (include/uapi/asm-generic/socket.h), which is the type of the message with the time as well.
TIMESTAMPS = 35
# Seconds within which a stream is refused; a SYN that nobody answers is sent again after one.
AT_ONCE = 0.1
# How often a stream is tried: on a busy machine others may have had the processors, but not each time.
TRIES = 3


class Watched:
    """An interface whose frames are seen."""

    def __init__(self, interface):
        self.link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.link.setsockopt(socket.SOL_SOCKET, TIMESTAMPS, 1)
        self.link.bind((interface, 0))

    def _segments(self, port):
        """What has been seen of TCP to and from that port: seconds, whether it went out, IP header, addresses, segment."""
        self.link.settimeout(0.05)
        while True:
            try:
                frame, notes, _, address = self.link.recvmsg(65536, 128)
            except TimeoutError:
                return
            packet = frame[14:]
            if frame[12:14] == b"\x08\x00" and packet[9] == 6:
                total, start, addresses = struct.unpack("!H", packet[2:4])[0], (packet[0] & 15) * 4, packet[12:20]
            elif frame[12:14] == b"\x86\xdd" and packet[6] == 6:
                total, start, addresses = 40 + struct.unpack("!H", packet[4:6])[0], 40, packet[8:40]
            else:
                continue
            segment = packet[start:total]
            if port in struct.unpack("!HH", segment[:4]):
                seconds, nanoseconds = next(struct.unpack("qq", data) for _, kind, data in notes if kind == TIMESTAMPS)
                moment = seconds + nanoseconds / 1e9
                yield moment, address[2] == socket.PACKET_OUTGOING, packet[:start], addresses, segment

    def refusal(self, port):
        """Seconds from the SYN to the one RST, which is whole and answers it: an AssertionError where that is not what has been seen."""
        seen = list(self._segments(port))
        sent = [one for one in seen if one[1] and one[4][13] == SYN]
        resets = [one for one in seen if not one[1] and one[4][13] & RST]
        assert len(sent) == len(resets) == 1, (len(sent), len(resets))
        (begin, *_, syn), (end, _, header, addresses, reset) = sent[0], resets[0]
        sequence, acknowledged = struct.unpack("!I", syn[4:8])[0], struct.unpack("!I", reset[8:12])[0]
        assert reset[13] == RST_ACK and len(reset) == 20, reset
        assert acknowledged == (sequence + 1) & 0xFFFFFFFF, (sequence, acknowledged)
        assert header[0] >> 4 == 6 or packets.checksum(header) == 0, header
        assert packets.checksum(addresses + struct.pack("!II", len(reset), 6) + reset) == 0, reset
        return end - begin

    def stream(self, address, port, patience):
        """What becomes of a stream: + accepted, ! refused at once, - nothing within `patience` seconds; else after how many it was refused."""
        took = []
        for _ in range(TRIES):
            list(self._segments(port))
            try:
                with socket.create_connection((address, port), timeout=patience):
                    return "+"
            except ConnectionRefusedError:
                took.append(self.refusal(port))
            except TimeoutError:
                return "-"
            if took[-1] < AT_ONCE:
                return "!"
        return f"after {min(took):.3f} s"
