// The layouts of the rungs and of swizzles against CuTe's, element by element: CuTe itself where CUTLASS was found, and
// otherwise what it said when cute_offsets.json was recorded.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "kernels/simt/conflict_free.cuh"
#include "kernels/simt/f16_padded.cuh"
#include "kernels/simt/f16_unpadded.cuh"
#include "kernels/simt/multistage.cuh"
#include "kernels/simt/padded_folk.cuh"
#include "kernels/simt/shared_tiles.cuh"
#include "kernels/simt/thread_tiles_1d.cuh"
#include "kernels/simt/thread_tiles_2d.cuh"
#include "kernels/simt/vectorized.cuh"
#include "kernels/simt/warp_tiles.cuh"
#include "layout/cute_offsets.hpp"
#include "layout/layout.hpp"

namespace lapidary {
namespace {

using Json = nlohmann::ordered_json;

std::map<std::string, Layout> our_layouts() {
  return {
      {"shared_tiles 32x32x32 A", shared_tiles::Config<32, 32, 32>::a},
      {"shared_tiles 32x32x32 B", shared_tiles::Config<32, 32, 32>::b},
      {"shared_tiles 16x16x16 A", shared_tiles::Config<16, 16, 16>::a},
      {"shared_tiles 16x16x16 B", shared_tiles::Config<16, 16, 16>::b},
      {"shared_tiles 32x32x8 A", shared_tiles::Config<32, 32, 8>::a},
      {"shared_tiles 32x32x8 B", shared_tiles::Config<32, 32, 8>::b},
      {"shared_tiles 32x32x64 A", shared_tiles::Config<32, 32, 64>::a},
      {"shared_tiles 32x32x64 B", shared_tiles::Config<32, 32, 64>::b},
      {"thread_tiles_1d 64x64x8 A", thread_tiles_1d::Config<64, 64, 8, 8>::a},
      {"thread_tiles_1d 64x64x8 B", thread_tiles_1d::Config<64, 64, 8, 8>::b},
      {"thread_tiles_1d 64x64x16 A", thread_tiles_1d::Config<64, 64, 16, 8>::a},
      {"thread_tiles_1d 64x64x16 B", thread_tiles_1d::Config<64, 64, 16, 8>::b},
      {"thread_tiles_2d 128x128x8 A", thread_tiles_2d::Config<128, 128, 8, 8, 8>::a},
      {"thread_tiles_2d 128x128x8 B", thread_tiles_2d::Config<128, 128, 8, 8, 8>::b},
      {"vectorized 128x128x8 A", vectorized::Config<128, 128, 8>::a},
      {"vectorized 128x128x8 B", vectorized::Config<128, 128, 8>::b},
      {"vectorized 128x128x16 A", vectorized::Config<128, 128, 16>::a},
      {"vectorized 128x128x16 B", vectorized::Config<128, 128, 16>::b},
      {"padded_folk 128x128x8 B", padded_folk::Config<128, 128, 8>::b},
      {"conflict_free 128x128x8 A", conflict_free::Config<128, 128, 8>::a},
      {"warp_tiles 128x128x8 A", warp_tiles::Default::a},
      {"warp_tiles 128x128x16 A", warp_tiles::Large::a},
      {"multistage 128x128x32 A", multistage::Default::A::layout},
      {"multistage 128x128x32 B", multistage::Default::B::layout},
      {"multistage 128x256x32 A", multistage::Wide::A::layout},
      {"multistage 128x256x32 B", multistage::Wide::B::layout},
      {"f16_padded 128x128x64 A", f16_padded::Padded::a},
      {"f16_padded 128x128x64 B", f16_padded::Padded::b},
      {"f16_unpadded 128x128x64 A", f16_unpadded::Unpadded::a},
      {"f16_unpadded 128x128x64 B", f16_unpadded::Unpadded::b},
      {"wgmma f16, no swizzle, K", row_major(8, 8)},
      {"wgmma f16, 32 bytes, K", row_major(8, 16).swizzled(1, 3, 3)},
      {"wgmma f16, 64 bytes, K", row_major(8, 32).swizzled(2, 3, 3)},
      {"wgmma f16, 128 bytes, K", row_major(8, 64).swizzled(3, 3, 3)},
      {"wgmma f16, 32 bytes, MN", column_major(16, 8).swizzled(1, 3, 3)},
      {"wgmma f16, 64 bytes, MN", column_major(32, 8).swizzled(2, 3, 3)},
      {"wgmma f16, 128 bytes, MN", column_major(64, 8).swizzled(3, 3, 3)},
      {"wgmma f32, 128 bytes, K", row_major(8, 32).swizzled(3, 2, 3)},
      {"wgmma f16, 128 bytes, K, 128x64", row_major(128, 64).swizzled(3, 3, 3)},
      // Atoms follow each other down the columns: a row of 128 is two halves, 128 rows apart.
      {"wgmma f16, 128 bytes, K, 128x128", Layout({128, 2, 64}, {64, 128 * 64, 1}).swizzled(3, 3, 3)},
      {"wgmma f16, 128 bytes, K, 64x64, 3 stages", Layout({64, 64, 3}, {64, 1, 64 * 64}).swizzled(3, 3, 3)},
      {"f32, rows of 32, vectors of 4 swizzled", row_major(128, 32).swizzled(3, 2, 3)},
      {"f32, swizzle by bits further up", row_major(64, 64).swizzled(2, 3, 4)},
      {"f16, padded, then swizzled", row_major(64, 128).padded(64, 2).swizzled(3, 3, 3)},
  };
}

/// All of them, the last coordinate moving fastest.
std::vector<int> offsets_of(const Layout& layout) {
  std::vector<int> offsets;
  for (int i = 0; i < layout.shape(0); ++i)
    for (int j = 0; j < layout.shape(1); ++j)
      for (int k = 0; k < layout.shape(2); ++k) offsets.push_back(layout.rank() == 3 ? layout(i, j, k) : layout(i, j));
  return offsets;
}

Json recorded() {
  std::ifstream file(LAPIDARY_CUTE_OFFSETS);
  return Json::parse(file);
}

TEST(CuteOffsets, AreThoseOfOurLayoutsAsRecorded) {
  const Json records = recorded();
  EXPECT_EQ(records.size(), our_layouts().size());
  for (const auto& [name, layout] : our_layouts()) {
    ASSERT_TRUE(records.contains(name)) << name;
    Json record = records[name];
    record.erase("cute");
    EXPECT_EQ(record_of(offsets_of(layout)), record) << name << ": " << to_string(layout);
  }
}

// A mode of one stride puts column c at c times the offset of column 1.
TEST(CuteOffsets, OfARowWithPaddingInItAreNoMultiplesOfOneStride) {
  const Json record = recorded()["f16_padded 128x128x64 B"];
  EXPECT_EQ(record["cute"], "(_64,(_64,_2)):(_132,(_1,_66))");
  EXPECT_EQ(record["first"][1], 1);
  EXPECT_EQ(record["first"][63], 63);
  EXPECT_EQ(record["first"][64], 66);
}

#if LAPIDARY_WITH_CUTLASS
TEST(CuteOffsets, AreThoseOfOurLayoutsElementByElement) {
  std::map<std::string, Layout> ours = our_layouts();
  for (const CuteLayout& cute : cute_layouts()) {
    const auto found = ours.find(cute.name);
    ASSERT_NE(found, ours.end()) << cute.name;
    EXPECT_EQ(offsets_of(found->second), cute.offsets) << cute.name << ": " << to_string(found->second);
    ours.erase(found);
  }
  EXPECT_TRUE(ours.empty()) << "CuTe's are missing from " << ours.begin()->first << " on";
}

TEST(CuteOffsets, AreAsRecorded) {
  const Json records = recorded();
  EXPECT_EQ(records.size(), cute_layouts().size());
  for (const CuteLayout& cute : cute_layouts()) {
    Json record = {{"cute", cute.text}};
    record.update(record_of(cute.offsets));
    EXPECT_EQ(records.value(cute.name, Json()), record)
        << cute.name << "; build/test/record_cute > test/layout/cute_offsets.json records them";
  }
}
#endif

}  // namespace
}  // namespace lapidary
