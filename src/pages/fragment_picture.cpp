#include "pages/fragment_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/text.hpp"

namespace lapidary::pages {
namespace {

using lens::Fragment, lens::FragmentCell, lens::FragmentOperand, lens::InRegisters, lens::InSharedMemory;
using lens::MemoryChunk;
using report::Anchor, report::Colour, report::Point;

constexpr double margin = 20, letter = 6.3, line = 13, text_size = 10;
constexpr double labels_left = 44, labels_above = 36, between = 30, warp_gap = 8;

/// An operand's cells, and how large its elements are drawn.
struct Grid {
  const FragmentOperand* operand;
  std::vector<FragmentCell> cells;
  int cols;  ///< that are drawn
  double col_width = 0, row_height = 0;

  explicit Grid(const FragmentOperand& o) : operand(&o), cells(cells_of(o)), cols(shown_columns(o)) {
    for (const FragmentCell& cell : cells) {
      const bool upright = cell.rows > 1;
      const std::size_t letters = upright ? std::max(cell.who.size(), cell.what.size())
                                          : cell.who.size() + 1 + cell.what.size();
      const double width = std::max(34.0, letter * static_cast<double>(letters) + 6);
      const double height = upright && !cell.who.empty() ? 2 * line + 3 : line + 4;
      col_width = std::max(col_width, width / cell.cols);
      row_height = std::max(row_height, height / cell.rows);
    }
  }

  int warps() const { return operand->rows == 64 ? 4 : 1; }
  double x(int col) const { return col * col_width; }
  double y(int row) const { return row * row_height + (warps() == 4 ? row / 16 * warp_gap : 0); }
  double width() const { return x(cols); }
  double height() const { return y(operand->rows - 1) + row_height; }
};

struct Shades {
  Colour strong, soft;
};
Shades shades_of(const FragmentOperand& operand) {
  if (operand.name == "A") return {Colour::a, Colour::a_soft};
  if (operand.name == "B") return {Colour::b, Colour::b_soft};
  return {Colour::d, Colour::d_soft};
}

std::string range_text(int first, int count) {
  return count == 1 ? std::to_string(first) : fmt::format("{}-{}", first, first + count - 1);
}

void draw_cell(report::Svg& svg, const Grid& grid, const FragmentCell& cell, int marked) {
  const double x = grid.x(cell.col), y = grid.y(cell.row);
  const double width = cell.cols * grid.col_width, height = cell.rows * grid.row_height;
  const bool is_marked = cell.thread == marked;
  const Colour fill = is_marked ? Colour::lane : cell.odd ? shades_of(*grid.operand).soft : Colour::empty;
  const Colour ink = is_marked ? Colour::on_lane : Colour::ink;
  svg.rect(x + 0.5, y + 0.5, width - 1, height - 1, fill,
           fmt::format("row {}, column {}: {}", range_text(cell.row, cell.rows), range_text(cell.col, cell.cols),
                       cell.thread < 0 ? fmt::format("byte {}", cell.what)
                                       : fmt::format("thread {}, {}", cell.thread, cell.what)));
  const Point centre{x + width / 2, y + height / 2 + 3.5};
  if (cell.who.empty()) {
    svg.text(centre, cell.what, text_size, ink, Anchor::middle);
  } else if (cell.rows == 1) {
    svg.text(centre, cell.who + " " + cell.what, text_size, ink, Anchor::middle);
  } else {
    svg.text({centre.x, centre.y - line / 2}, cell.who, text_size, ink, Anchor::middle);
    svg.text({centre.x, centre.y + line / 2}, cell.what, text_size, ink, Anchor::middle);
  }
}

/// An operand with its title, and the numbers of its rows and columns where they are asked for; the group's origin is
/// its first element.
void draw_grid(report::Svg& svg, const Grid& grid, Point at, int marked, bool numbers) {
  const FragmentOperand& operand = *grid.operand;
  const auto* part = std::get_if<InRegisters>(&operand.where);
  const bool moved = part && !part->address_lanes.empty();
  svg.begin_group(at);
  svg.text({0, numbers ? -20.0 : -8.0}, operand.name, 14, shades_of(operand).strong, Anchor::start, true);
  svg.text({9.5 * static_cast<double>(operand.name.size()) + 6, numbers ? -20.0 : -8.0},
           fmt::format("{} x {}{}{}", operand.rows, operand.cols,
                       moved ? "" : fmt::format(" {}", emulator::name_of(operand.type)), part ? "" : ", by byte"),
           11, Colour::faint);
  for (const FragmentCell& cell : grid.cells) {
    if (cell.col >= grid.cols) continue;
    if (numbers && cell.row == 0)
      svg.text({grid.x(cell.col) + cell.cols * grid.col_width / 2, -6}, range_text(cell.col, cell.cols), 9.5,
               Colour::faint, Anchor::middle);
    if (numbers && cell.col == 0)
      svg.text({-6, grid.y(cell.row) + cell.rows * grid.row_height / 2 + 3.5}, range_text(cell.row, cell.rows), 9.5,
               Colour::faint, Anchor::end);
    draw_cell(svg, grid, cell, marked);
  }
  if (grid.cols < operand.cols) svg.text({grid.width() + 6, grid.height() / 2}, "...", 14, Colour::faint);
  svg.end_group();
}

/// The chunks of 16 bytes of a tile's first lines.
struct Lines {
  const FragmentOperand* operand;
  std::vector<MemoryChunk> chunks;
  double chunk_width = 0;

  explicit Lines(const FragmentOperand& o) : operand(&o), chunks(first_chunks(o)) {
    for (const MemoryChunk& chunk : chunks)
      chunk_width = std::max(chunk_width, letter * static_cast<double>(chunk.what.size()) + 8);
  }
  double width() const { return labels_left + 8 * chunk_width; }
  double height() const { return 64 + static_cast<double>(chunks.size() / 8) * row; }
  static constexpr double row = line + 5;
};

void draw_lines(report::Svg& svg, const Lines& lines, Point at) {
  const Shades shades = shades_of(*lines.operand);
  svg.begin_group(at);
  svg.text({0, 12}, fmt::format("{} in shared memory", lines.operand->name), 14, shades.strong, Anchor::start, true);
  svg.text({0, 34}, "byte", 9.5, Colour::faint);
  for (int column = 0; column < 8; ++column)
    svg.text({labels_left + (column + 0.5) * lines.chunk_width, 34}, fmt::format("+{}", 16 * column), 9.5,
             Colour::faint, Anchor::middle);
  for (int i = 0; i < static_cast<int>(lines.chunks.size()); ++i) {
    const MemoryChunk& chunk = lines.chunks[static_cast<std::size_t>(i)];
    const double x = labels_left + i % 8 * lines.chunk_width, y = 40 + i / 8 * Lines::row;
    if (i % 8 == 0) svg.text({0, y + 12.5}, std::to_string(16 * i), 9.5, Colour::faint);
    svg.rect(x + 0.5, y + 0.5, lines.chunk_width - 1, Lines::row - 1, chunk.read ? shades.soft : Colour::empty);
    svg.text({x + lines.chunk_width / 2, y + 12.5}, chunk.what, text_size, chunk.read ? Colour::ink : Colour::faint,
             Anchor::middle);
  }
  svg.end_group();
}

/// What stands below a picture.
std::vector<std::string> captions(const Fragment& fragment, int thread, bool shared, bool cut) {
  const FragmentOperand& last = fragment.operands.back();
  const std::vector<FragmentCell> cells = cells_of(last);
  const auto example = std::find_if(cells.begin(), cells.end(), [&](const auto& c) { return c.thread == thread; });
  std::vector<std::string> texts = {
      fmt::format("A cell names who holds it and which of the holder's elements these are: {0} {1} is {1} of {2} {3}.",
                  example->who, example->what, fragment.threads == 128 ? "thread" : "lane", thread)};
  if (shared)
    texts.push_back(
        "In shared memory a cell is a chunk of 16 bytes and the byte at which it begins. Its lines show what lies where: "
        "coloured, what this instruction reads; pale, the rest of the tile.");
  if (cut) texts.push_back(fmt::format("The columns from {} on go on alike.", shown_columns(last)));
  if (!fragment.instruction.moves_matrices())
    for (const FragmentOperand& operand : fragment.operands) texts.push_back(describe(operand) + ".");
  texts.insert(texts.end(), fragment.notes.begin(), fragment.notes.end());
  return texts;
}

/// Where each grid begins, below `top`.
struct Placed {
  Grid grid;
  Point at;
  bool numbers;
};

/// A to the left of D, B above it.
std::vector<Placed> placed_product(const Fragment& fragment, double top) {
  Grid a(fragment.operands[0]), b(fragment.operands[1]), d(fragment.operands[2]);
  a.row_height = d.row_height = std::max(a.row_height, d.row_height);
  b.col_width = d.col_width = std::max(b.col_width, d.col_width);
  b.cols = d.cols;
  const double left = margin + labels_left + (d.warps() > 1 ? 20 : 0);
  const Point a_at{left, top + labels_above + b.height() + between + labels_above};
  // A's title may be wider than its elements.
  const double right = left + std::max(a.width(), 140.0) + between + labels_left;
  return {{a, a_at, true}, {b, {right, top + labels_above}, true}, {d, {right, a_at.y}, false}};
}

/// Two beside each other.
std::vector<Placed> placed_matrices(const Fragment& fragment, double top) {
  std::vector<Placed> placed;
  for (const FragmentOperand& operand : fragment.operands) {
    Grid grid(operand);
    const auto i = static_cast<double>(placed.size() % 2), j = static_cast<double>(placed.size() / 2);
    const Point at{margin + 90 + i * (grid.width() + 110), top + labels_above + j * (grid.height() + 60)};
    placed.push_back({std::move(grid), at, true});
  }
  return placed;
}

/// The lanes that give the addresses of a matrix's rows, to the left of their numbers.
void draw_address_lanes(report::Svg& svg, const Placed& placed, int marked) {
  const std::vector<int>& lanes = std::get<InRegisters>(placed.grid.operand->where).address_lanes;
  svg.text({placed.at.x - 34, placed.at.y - 6}, "address", 9.5, Colour::faint, Anchor::end);
  for (int row = 0; row < static_cast<int>(lanes.size()); ++row) {
    const int lane = lanes[static_cast<std::size_t>(row)];
    const double y = placed.at.y + placed.grid.y(row) + placed.grid.row_height / 2;
    if (lane == marked) svg.rect(placed.at.x - 66, y - 8, 32, 16, Colour::lane);
    svg.text({placed.at.x - 38, y + 3.5}, fmt::format("T{}", lane), text_size,
             lane == marked ? Colour::on_lane : Colour::ink, Anchor::end);
  }
}

void draw_warps(report::Svg& svg, const Placed& placed) {
  for (int warp = 0; warp < 4; ++warp) {
    const double y = placed.at.y + placed.grid.y(16 * warp), height = 16 * placed.grid.row_height;
    const double x = placed.at.x - labels_left;
    svg.line({x, y}, {x, y + height}, Colour::faint, 1);
    svg.text({x - 6, y + height / 2}, fmt::format("warp {}", warp), 11, Colour::ink, Anchor::middle, false, -90);
  }
}

/// What is marked, and lines of text, from `top` on.
void draw_captions(report::Svg& svg, double top, const std::string& marked, const std::vector<std::string>& lines) {
  svg.rect(margin, top - 10, 14, 12, Colour::lane);
  svg.text({margin + 19, top}, marked, 11, Colour::faint);
  double y = top + 20;
  for (const std::string& one : lines) {
    svg.text({margin, y}, one, 11, Colour::faint);
    y += 16;
  }
}

}  // namespace

report::Svg fragment_picture(const Fragment& fragment, int thread) {
  constexpr double top = margin + 34;
  const bool moves = fragment.instruction.moves_matrices();
  const std::vector<Placed> placed = moves ? placed_matrices(fragment, top) : placed_product(fragment, top);
  std::vector<std::pair<Lines, double>> lines;  // and how far down they begin
  bool cut = false;
  double width = 640, y = top;
  for (const Placed& p : placed) {
    cut |= p.grid.cols < p.grid.operand->cols;
    width = std::max(width, p.at.x + p.grid.width() + between + margin);
    y = std::max(y, p.at.y + p.grid.height() + between);
  }
  for (const FragmentOperand& operand : fragment.operands) {
    if (!std::holds_alternative<InSharedMemory>(operand.where)) continue;
    const Lines& one = lines.emplace_back(Lines(operand), y).first;
    width = std::max(width, one.width() + 2 * margin);
    y += one.height();
  }
  std::vector<std::string> text;
  for (const std::string& caption : captions(fragment, thread, !lines.empty(), cut))
    for (std::string& one : report::wrap(caption, static_cast<int>((width - 2 * margin) / letter)))
      text.push_back(std::move(one));
  const std::string title = ptx_name(fragment.instruction);
  report::Svg svg(width, y + 24 + 16 * static_cast<double>(text.size()) + margin, "Which thread holds what: " + title);
  svg.text({margin, margin + 12}, title, 15, Colour::ink, Anchor::start, true);
  for (const Placed& p : placed) {
    draw_grid(svg, p.grid, p.at, thread, p.numbers);
    if (moves) draw_address_lanes(svg, p, thread);
  }
  if (fragment.threads == 128) draw_warps(svg, placed.front());
  for (const auto& [one, from] : lines) draw_lines(svg, one, {margin, from});
  draw_captions(svg, y, fmt::format("{} {}", fragment.threads == 128 ? "thread" : "lane", thread), text);
  return svg;
}

}  // namespace lapidary::pages
