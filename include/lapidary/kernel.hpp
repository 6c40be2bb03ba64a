#pragma once
// For kernel files (.cuh) that are built with lapidary_add_kernel: CUDA C++ on a GPU and on the emulated machine.
//
//   namespace mine::inline LAPIDARY_BUILD {
//   __global__ void kernel(int n, float* data) { ... }
//
//   void run(const lapidary::Stream& stream, int n, float* data) {
//     lapidary::launch(stream, {.kernel = "mine", .grid = lapidary::ceil_div(n, 256), .block = 256}, kernel, n, data);
//   }
//   }
//
// A program calls mine::plain::run, mine::instrumented::run or mine::gpu::run, whichever build it wants.
#include "core/build.hpp"         // LAPIDARY_BUILD, LAPIDARY_HD
#include "core/launch_shape.hpp"  // LaunchShape
#include "core/math.hpp"          // ceil_div, round_up
#include "device/launch.hpp"      // launch
#include "device/shared.hpp"      // SharedArray, shared_storage, as
#include "device/stream.hpp"      // Stream
#include "layout/access.hpp"      // wavefronts and sectors of an access, for static_assert
#include "layout/layout.hpp"      // Layout
#include "ptx/barrier.hpp"        // barrier_sync, barrier_arrive
#include "ptx/cp_async.hpp"       // cp_async and its groups
