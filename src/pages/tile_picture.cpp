#include "pages/tile_picture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lens/tile_share.hpp"
#include "model/traffic.hpp"
#include "pages/rectangles.hpp"

namespace lapidary::pages {
namespace {

using lens::Range, lens::Share, lens::TileOwners;
using report::Anchor, report::Colour, report::Svg;

constexpr double margin = 24, top = 96;
constexpr double most_block = 470, most_warp = 420;

/// The block's tiles: B above D, A to the left of it.
struct BlockPlan {
  double cell;            ///< pixels of an element of D
  double depth;           ///< pixels along K
  double gap = 10, x, y;  ///< of D
  double width, height;

  explicit BlockPlan(const TileShape& tile)
      : cell(std::min(20.0, most_block / std::max(tile.m, tile.n))),
        depth(tile.k > 0 ? std::clamp(tile.k * cell, 26.0, 96.0) : 96.0),
        x(depth + gap),
        y(depth + gap + 16),
        width(x + cell * tile.n),
        height(y + cell * tile.m) {}
};

void draw_operands(Svg& svg, const TileOwners& owners, const BlockPlan& plan, const Share& warp, const Share& thread) {
  const TileShape& tile = owners.tile;
  const double d_width = plan.cell * tile.n, d_height = plan.cell * tile.m;
  svg.rect(0, plan.y, plan.depth, d_height, Colour::a_soft);
  svg.rect(plan.x, plan.y - plan.gap - plan.depth, d_width, plan.depth, Colour::b_soft);
  const auto mark = [&](const Share& share, Colour a, Colour b) {
    for (const Range& r : share.rows) {
      svg.rect(0, plan.y + r.first * plan.cell, plan.depth, (r.last - r.first + 1) * plan.cell, a);
    }
    for (const Range& r : share.cols) {
      svg.rect(plan.x + r.first * plan.cell, plan.y - plan.gap - plan.depth, (r.last - r.first + 1) * plan.cell,
               plan.depth, b);
    }
  };
  mark(warp, Colour::a, Colour::b);
  mark(thread, Colour::lane, Colour::lane);
  const std::string depth = tile.k > 0 ? std::to_string(tile.k) : "K";
  svg.text({-8, plan.y + d_height / 2}, fmt::format("A, {} x {}", tile.m, depth), 12, Colour::a, Anchor::middle, true,
           -90);
  svg.text({plan.x, plan.y - plan.gap - plan.depth - 7}, fmt::format("B, {} x {}", depth, tile.n), 12, Colour::b,
           Anchor::start, true);
  svg.text({plan.x, plan.y + d_height + 16},
           fmt::format("D, {} x {}: {} warps, {} threads", tile.m, tile.n, owners.warps(), owners.threads), 12,
           Colour::d, Anchor::start, true);
}

void draw_block(Svg& svg, const TileOwners& owners, const BlockPlan& plan, int thread) {
  const TileShape& tile = owners.tile;
  const int warp = thread / 32;
  svg.rect(plan.x, plan.y, plan.cell * tile.n, plan.cell * tile.m, Colour::page);
  std::vector<int> warps;
  for (const int owner : owners.owner) warps.push_back(owner / 32);
  const double inset = std::min(0.75, plan.cell / 8);
  for (const Rectangle& r : rectangles(tile.m, tile.n, warps)) {
    const double x = plan.x + r.col * plan.cell, y = plan.y + r.row * plan.cell;
    const double width = r.cols * plan.cell, height = r.rows * plan.cell;
    const bool marked = r.value == warp;
    svg.rect(x + inset, y + inset, width - 2 * inset, height - 2 * inset, marked ? Colour::d : Colour::d_soft,
             fmt::format("warp {}: rows {}-{}, columns {}-{}", r.value, r.row, r.row + r.rows - 1, r.col,
                         r.col + r.cols - 1));
    if (marked) continue;
    const std::string name = width > 58 ? fmt::format("warp {}", r.value) : std::to_string(r.value);
    const double size = std::min({11.0, height - 2, (width - 2) / (0.65 * static_cast<double>(name.size()))});
    if (size >= 7) svg.text({x + width / 2, y + height / 2 + 4}, name, size, Colour::ink, Anchor::middle);
  }
  for (const Rectangle& r : rectangles(tile.m, tile.n, owners.owner)) {
    if (r.value != thread) continue;
    svg.rect(plan.x + r.col * plan.cell, plan.y + r.row * plan.cell, r.cols * plan.cell, r.rows * plan.cell,
             Colour::lane, fmt::format("thread {}", thread));
  }
}

/// Where rows or columns are that do not follow each other: side by side, with a gap between ranges.
struct Compressed {
  const std::vector<Range>& ranges;
  double cell;
  static constexpr double gap = 10;

  double at(int index) const {
    double position = 0;
    for (const Range& r : ranges) {
      if (index <= r.last) return position + (index - r.first) * cell;
      position += (r.last - r.first + 1) * cell + gap;
    }
    return position;
  }
  double length() const { return cell * count_of(ranges) + gap * static_cast<double>(ranges.size() - 1); }
};

struct WarpPlan {
  Compressed rows, cols;

  explicit WarpPlan(const Share& warp) : rows{warp.rows, cell_of(warp)}, cols{warp.cols, cell_of(warp)} {}
  static double cell_of(const Share& warp) {
    const auto fit = [&](const std::vector<Range>& ranges) {
      return (most_warp - Compressed::gap * static_cast<double>(ranges.size() - 1)) / count_of(ranges);
    };
    return std::min({26.0, fit(warp.rows), fit(warp.cols)});
  }
};

void draw_warp(Svg& svg, const TileOwners& owners, const WarpPlan& plan, int thread) {
  const int warp = thread / 32;
  for (const Range& r : plan.rows.ranges) {
    svg.text({-8, plan.rows.at(r.first) + (r.last - r.first + 1) * plan.rows.cell / 2 + 4}, to_string(std::vector{r}),
             10, Colour::faint, Anchor::end);
  }
  for (const Range& r : plan.cols.ranges) {
    svg.text({plan.cols.at(r.first) + (r.last - r.first + 1) * plan.cols.cell / 2, -7}, to_string(std::vector{r}), 10,
             Colour::faint, Anchor::middle);
  }
  // Ranges are drawn one by one: what is cut out between them is nobody's.
  for (const Range& rows : plan.rows.ranges) {
    for (const Range& cols : plan.cols.ranges) {
      const int down = rows.last - rows.first + 1, across = cols.last - cols.first + 1;
      std::vector<int> cells;
      for (int i = rows.first; i <= rows.last; ++i)
        for (int j = cols.first; j <= cols.last; ++j) cells.push_back(owners.thread(i, j));
      for (const Rectangle& r : rectangles(down, across, cells)) {
        if (r.value / 32 != warp) continue;
        const double x = plan.cols.at(cols.first + r.col), y = plan.rows.at(rows.first + r.row);
        const double width = r.cols * plan.cols.cell, height = r.rows * plan.rows.cell;
        const bool marked = r.value == thread;
        svg.rect(x + 0.75, y + 0.75, width - 1.5, height - 1.5, marked ? Colour::lane : Colour::d,
                 fmt::format("thread {}, lane {}", r.value, r.value % 32));
        const double size = std::min({12.0, height - 3, (width - 3) / 1.4});
        if (size >= 6.5) {
          svg.text({x + width / 2, y + height / 2 + size * 0.36}, std::to_string(r.value % 32), size,
                   marked ? Colour::on_lane : Colour::on_colour, Anchor::middle);
        }
      }
    }
  }
}

/// "row 3" or "rows 0-7, 64-71"
std::string places_text(const char* what, const std::vector<Range>& ranges) {
  return fmt::format("{}{} {}", what, count_of(ranges) == 1 ? "" : "s", to_string(ranges));
}

std::string size_text(const Share& share) {
  return share.is_rectangle() ? fmt::format("{} x {}", share.row_count, share.col_count)
                              : fmt::format("{} results", share.results);
}

}  // namespace

Svg tile_picture(const std::string& title, const TileOwners& owners, int thread) {
  const Share own = share_of_thread(owners, thread), warp = share_of_warp(owners, thread / 32);
  const BlockPlan block(owners.tile);
  const WarpPlan zoom(warp);
  constexpr double between = 96;
  const double block_x = margin + 20;  // beside the name of A
  const double warp_x = block_x + block.width + between, warp_y = top + block.y;
  const double width = std::max(warp_x + std::max(zoom.cols.length(), 390.0) + margin, 720.0);
  const double facts_y = warp_y + zoom.rows.length() + 34;
  const double bottom = std::max(top + block.height, facts_y + 36);
  Svg svg(width, bottom + 66, title);
  svg.text({margin, 34}, title, 17, Colour::ink, Anchor::start, true);
  svg.text({margin, 56},
           fmt::format("thread {} is lane {} of warp {}: {}, {}", thread, thread % 32, thread / 32,
                       places_text("row", own.rows), places_text("column", own.cols)),
           12, Colour::ink);
  svg.begin_group({block_x, top});
  draw_operands(svg, owners, block, warp, own);
  draw_block(svg, owners, block, thread);
  svg.end_group();
  svg.begin_group({warp_x, warp_y});
  svg.text({0, -28}, fmt::format("warp {}, {}, by lane", thread / 32, size_text(warp)), 12, Colour::d, Anchor::start,
           true);
  draw_warp(svg, owners, zoom, thread);
  svg.end_group();
  const Share all = share_of_block(owners);
  double line = facts_y;
  for (const auto& [name, share] : {std::pair{"block", all}, std::pair{"warp", warp}, std::pair{"thread", own}}) {
    svg.text({warp_x, line}, name, 12, Colour::ink, Anchor::start, true);
    svg.text({warp_x + 56, line}, size_text(share), 12);
    svg.text({warp_x + 138, line},
             fmt::format("{:.3g} multiply-adds for each element of A and B",
                         model::fma_per_load(share.row_count, share.col_count)),
             12);
    line += 18;
  }
  double x = margin;
  const double y = bottom + 46;
  const auto entry = [&](std::initializer_list<Colour> colours, const std::string& text, double advance) {
    for (const Colour colour : colours) {
      svg.rect(x, y - 10, 14, 12, colour);
      x += 16;
    }
    svg.text({x + 4, y}, text, 11, Colour::faint);
    x += advance;
  };
  entry({Colour::lane}, fmt::format("thread {} and what its results take", thread), 204);
  entry({Colour::a, Colour::b, Colour::d}, "its warp", 72);
  entry({Colour::a_soft, Colour::b_soft, Colour::d_soft}, "the rest of the block", 140);
  return svg;
}

}  // namespace lapidary::pages
