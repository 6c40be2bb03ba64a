// What the pictures show, against what is drawn from.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "lens/ladder_roofline.hpp"
#include "lens/raster_comparison.hpp"
#include "lens/rung_record.hpp"
#include "lens/tile_share.hpp"
#include "model/gpu.hpp"
#include "pages/coalescing_picture.hpp"
#include "pages/occupancy_picture.hpp"
#include "pages/raster_picture.hpp"
#include "pages/rectangles.hpp"
#include "pages/roofline_picture.hpp"
#include "pages/tile_picture.hpp"

namespace lapidary::pages {
namespace {

using namespace lens;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Where xmllint is, that the picture is XML.
void expect_well_formed(const std::string& svg) {
  if (std::system("command -v xmllint >/dev/null") != 0) return;
  std::FILE* const pipe = popen("xmllint --noout -", "w");
  std::fwrite(svg.data(), 1, svg.size(), pipe);
  EXPECT_EQ(pclose(pipe), 0);
}

TEST(Rectangles, CoverEachCellOnce) {
  const std::vector<int> cells = {1, 1, 2,  //
                                  1, 1, 2,  //
                                  3, 1, 1};
  std::vector<int> covered(cells.size(), 0);
  const std::vector<Rectangle> found = rectangles(3, 3, cells);
  for (const Rectangle& r : found)
    for (int i = r.row; i < r.row + r.rows; ++i)
      for (int j = r.col; j < r.col + r.cols; ++j) covered[static_cast<std::size_t>(i * 3 + j)] += r.value;
  EXPECT_EQ(covered, cells);
  EXPECT_EQ(found.size(), 4u);
}

TEST(TilePicture, MarksOneThreadOfEveryKernel) {
  for (const Rung& rung : ladder())
    for (const KernelEntry& kernel : rung.kernels) {
      if (kernel.slices > 0) continue;  // bulk copies store its results
      SCOPED_TRACE(std::string(rung.name()) + " " + to_string(kernel.tile));
      const TileOwners owners = tile_owners(kernel);
      const int thread = *std::max_element(owners.owner.begin(), owners.owner.end());
      const std::string svg = tile_picture("a < b", owners, thread).render();
      const Share own = share_of_thread(owners, thread);
      const std::size_t pieces = own.rows.size() * own.cols.size();
      // In D, and by lane in its warp.
      EXPECT_EQ(count(svg, "<title>thread " + std::to_string(thread)), 2 * pieces);
      expect_well_formed(svg);
    }
}

TEST(CoalescingPicture, HasACellForEachAddressAndARowForEachLine) {
  WarpAccess access{{}, ~0u, 4};
  for (unsigned lane = 0; lane < 32; ++lane)
    access.address[lane] = (31 - lane) / 2 * 256;  // two lanes each, descending
  const std::string svg = coalescing_picture("pairs", {{"load", access}}, 5).render();
  EXPECT_EQ(count(svg, ": moved</title>"), 16u);
  EXPECT_EQ(count(svg, ": not touched</title>"), 3 * 16u);
  EXPECT_EQ(count(svg, "<title>byte 3328: lane 4,5</title>"), 1u);
  expect_well_formed(svg);
}

/// Names in the picture, by the height of their base line.
std::vector<double> heights_of_names(const std::string& svg) {
  std::vector<double> heights;
  for (const Rung& rung : whole_ladder()) {
    std::smatch match;
    const std::regex text("y=\"([0-9.]+)\"[^>]*>" + std::string(rung.name()) + "</text>");
    if (std::regex_search(svg, match, text)) heights.push_back(std::stod(match[1]));
  }
  std::sort(heights.begin(), heights.end());
  return heights;
}

TEST(RooflinePicture, NamesEveryKernelAndNoTwoOnTopOfEachOther) {
  for (const char* const gpu : {"h200", "h100-pcie", "b200"}) {
    SCOPED_TRACE(gpu);
    const Roofline shown = roofline(model::find_gpu(gpu), 4096, "burst");
    for (const RooflineEntry& entry : shown.entries)
      EXPECT_TRUE(shown.gpu.name == "H200" || !entry.measured) << "of another card: " << entry.kernel->id();
    const std::string svg = roofline_picture(shown).render();
    const std::vector<double> heights = heights_of_names(svg);
    std::set<const Rung*> kernels;
    for (const RooflineEntry& entry : shown.entries) kernels.insert(entry.rung);
    ASSERT_EQ(heights.size(), kernels.size());
    // A B200 has no wgmma, and at what rate it does mma.sync is not known.
    const std::size_t of_cuda_cores = static_cast<std::size_t>(std::count_if(
        whole_ladder().begin(), whole_ladder().end(), [](const Rung& rung) { return rung.family == "simt"; }));
    EXPECT_EQ(kernels.size(), shown.gpu.compute_capability == 90 ? whole_ladder().size() : of_cuda_cores);
    for (std::size_t i = 1; i < heights.size(); ++i) EXPECT_GE(heights[i] - heights[i - 1], 14.9);
    expect_well_formed(svg);
  }
}

TEST(OccupancyPicture, MarksTheBlockOnEachCurveThatHasIt) {
  const model::Gpu gpu = model::find_gpu("rtx 4090");
  const std::string svg = occupancy_picture(
                              "a < b", gpu,
                              model::occupancy(gpu, {.threads = 256, .registers = 37, .shared_bytes = 16001}))
                              .render();
  for (const char* value : {"37 registers", "16,001 bytes", "256 threads"})
    EXPECT_EQ(count(svg, std::string("<title>") + value + ": 5 blocks, 40 warps, 83.3 %</title>"), 1u) << value;
  expect_well_formed(svg);
  const std::string none = occupancy_picture("none", gpu, model::occupancy(gpu, {.threads = 256, .registers = 256}))
                               .render();
  EXPECT_EQ(count(none, ": 0 blocks, 0 warps"), 2u) << "no thread has 256 registers";
  EXPECT_EQ(count(none, "a thread has at most 255 registers"), 1u);
}

TEST(RasterPicture, ShowsTheFirstWaveOfEachOrder) {
  const RasterComparison comparison = compare_rasters({model::find_gpu("h200"), {2048, 2048, 512}, {128, 128, 8}});
  EXPECT_EQ(comparison.entries.size(), 7u);
  const std::string svg = raster_picture(comparison).render();
  EXPECT_EQ(count(svg, "<title>the first tile</title>"), 7u);
  expect_well_formed(svg);
}

}  // namespace
}  // namespace lapidary::pages
