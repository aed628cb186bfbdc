// The name that sni_one.c compares with. The runner's frames are built with the same one (crates/bench/src/frames.rs), and
// it checks every verdict before it measures.
#pragma once

#define ONE_NAME "metrics.ads-network.example"
