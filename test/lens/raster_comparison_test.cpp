#include "lens/raster_comparison.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "model/gpu.hpp"

namespace lapidary::lens {
namespace {

// A and B of 2048 x 512 and 512 x 2048 elements of 4 bytes are read once at least, D is written once.
TEST(RasterComparison, KnowsWhatNoOrderCanSpare) {
  const RasterComparison found = compare_rasters({model::find_gpu("h200"), {2048, 2048, 512}, {128, 128, 8}});
  EXPECT_EQ(found.compulsory_reads(), 2 * 2048 * 512 * 4);
  for (const RasterEntry& entry : found.entries)
    EXPECT_GE(entry.traffic.dram_read_bytes, found.compulsory_reads()) << entry.name;
  EXPECT_THROW(compare_rasters({model::find_gpu("h200"), {1 << 20, 1 << 20, 8}, {8, 8, 8}}), InvalidArgument);
}

}  // namespace
}  // namespace lapidary::lens
