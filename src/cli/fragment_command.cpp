#include "lens/fragment_map.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/options.hpp"
#include "cli/picture.hpp"
#include "cli/type_names.hpp"
#include "core/error.hpp"
#include "pages/fragment_picture.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

using lens::Fragment, lens::FragmentCell, lens::FragmentOperand;

struct FragmentArguments {
  std::vector<std::string> instruction;
  std::optional<int> lane;
  PictureFiles picture;
  bool json = false;
};

std::string range_text(int first, int count) {
  return count == 1 ? std::to_string(first) : fmt::format("{}-{}", first, first + count - 1);
}

std::string text_of(const FragmentCell& cell) { return cell.who.empty() ? cell.what : cell.who + " " + cell.what; }

/// Some of an operand's columns as a grid, as the PTX ISA draws it; a marked thread's cells begin with ">".
void print_columns(const std::vector<FragmentCell>& cells, std::size_t width, int marked, bool colour) {
  using report::Style;
  const FragmentCell& last = cells.back();
  std::string header(7, ' '), rows;
  for (const FragmentCell& cell : cells) {
    const std::size_t columns = cell.col == last.col ? 0 : width;
    if (cell.row == 0) header += fmt::format(" {:<{}}", range_text(cell.col, cell.cols), columns);
    if (cell.col == cells.front().col) rows += fmt::format("  {:<5}", range_text(cell.row, cell.rows));
    const bool is_marked = cell.thread == marked;
    const std::string text = fmt::format("{}{:<{}}", is_marked ? '>' : ' ', text_of(cell), columns);
    rows += is_marked ? report::styled(text, Style::good, colour) : text;
    if (cell.col == last.col) rows += "\n";
  }
  fmt::print("{}\n{}", report::styled(header, Style::faint, colour), rows);
}

/// In as many parts, one below the other, as the page is too narrow for.
void print_grid(const FragmentOperand& operand, int marked, bool colour) {
  const bool shared = std::holds_alternative<lens::InSharedMemory>(operand.where);
  const int rows = shared ? std::min(operand.rows, 16) : operand.rows, cols = lens::shown_columns(operand);
  std::vector<FragmentCell> cells = lens::cells_of(operand);
  std::erase_if(cells, [&](const FragmentCell& cell) { return cell.row >= rows || cell.col >= cols; });
  std::size_t width = 0;
  for (const FragmentCell& cell : cells)
    width = std::max({width, text_of(cell).size(), range_text(cell.col, cell.cols).size()});
  const int fit = (report::page_width - 7) / (static_cast<int>(width) + 1), step = cells.front().cols;
  const int part = fit * step >= cols ? cols : (fit >= 8 ? fit / 8 * 8 : fit) * step;
  for (int first = 0; first < cols; first += part) {
    std::vector<FragmentCell> some = cells;
    std::erase_if(some, [&](const FragmentCell& cell) { return cell.col < first || cell.col >= first + part; });
    print_columns(some, width, marked, colour);
  }
  if (rows < operand.rows) fmt::print("  the rows from {} on go on alike\n", rows);
  if (cols < operand.cols) fmt::print("  the columns from {} on go on alike\n", cols);
}

/// The first KiB of an operand's tile in shared memory, 128 bytes a line.
void print_lines(const FragmentOperand& operand, bool colour) {
  std::vector<report::Column> columns = {{"byte", report::Column::number}};
  for (int chunk = 0; chunk < 8; ++chunk) columns.push_back({fmt::format("+{}", 16 * chunk)});
  report::Table table(std::move(columns));
  const std::vector<lens::MemoryChunk> chunks = lens::first_chunks(operand);
  for (std::size_t line = 0; line < chunks.size(); line += 8) {
    std::vector<report::Cell> cells = {{std::to_string(16 * line)}};
    for (std::size_t i = line; i < line + 8; ++i)
      cells.push_back({chunks[i].what, chunks[i].read ? report::Style::plain : report::Style::faint});
    table.add_row(std::move(cells));
  }
  fmt::print("\n{}", table.render(colour));
}

/// What one thread holds: a line for each register, or where there are many, for four elements.
void print_thread(const Fragment& fragment, int thread, bool colour) {
  fmt::print("\n{}\n\n", report::styled(fmt::format("{} {} holds", fragment.threads == 128 ? "thread" : "lane", thread),
                                        report::Style::heading, colour));
  report::Table table({{"of"}, {"register"}, {"elements (row, column), low bits first"}});
  for (const FragmentOperand& operand : fragment.operands) {
    const auto* part = std::get_if<lens::InRegisters>(&operand.where);
    if (!part) continue;
    const std::vector<std::string> elements = lens::elements_of(operand, thread);
    const int line = elements.size() > 16 ? 4 : part->packed;
    for (int i = 0; i < part->elements; i += line) {
      const auto first = elements.begin() + i;
      table.add_row({{i == 0 ? operand.name : ""},
                     {range_text((part->first + i) / part->packed, line / part->packed)},
                     {fmt::format("{}", fmt::join(first, first + line, ", "))}});
    }
  }
  fmt::print("{}", table.render(colour));
}

Json to_json(const FragmentOperand& operand) {
  Json json = {{"name", operand.name},
               {"type", emulator::name_of(operand.type)},
               {"rows", operand.rows},
               {"cols", operand.cols}};
  if (const auto* part = std::get_if<lens::InRegisters>(&operand.where)) {
    std::vector<std::vector<std::pair<int, int>>> elements(
        static_cast<std::size_t>(part->threads),
        std::vector<std::pair<int, int>>(static_cast<std::size_t>(part->elements)));
    for (int row = 0; row < operand.rows; ++row)
      for (int col = 0; col < operand.cols; ++col) {
        const auto [thread, index] = part->places[static_cast<std::size_t>(row * operand.cols + col)];
        elements[static_cast<std::size_t>(thread)][static_cast<std::size_t>(index)] = {row, col};
      }
    json["where"] = "registers";
    json["first_register"] = part->first / part->packed;
    json["registers"] = part->elements / part->packed;
    json["elements_per_register"] = part->packed;
    json["elements"] = elements;
    if (!part->address_lanes.empty()) json["address_lanes"] = part->address_lanes;
    return json;
  }
  const auto& part = std::get<lens::InSharedMemory>(operand.where);
  json["where"] = "shared memory";
  json["major"] = part.form.major == Major::k ? "k" : "mn";
  json["swizzle"] = span_of(part.form.swizzle);
  json["tile"] = {{"mn", part.tile_mn}, {"k", part.tile_k}};
  json["descriptor"] = fmt::format("{:#018x}", encode(part.descriptor));
  json["leading"] = part.descriptor.leading;
  json["stride"] = part.descriptor.stride;
  Json offsets = Json::array();
  for (int row = 0; row < operand.rows; ++row) {
    const auto first = part.offsets.begin() + row * operand.cols;
    offsets.push_back(std::vector<std::uint32_t>(first, first + operand.cols));
  }
  json["offsets"] = offsets;
  return json;
}

void print_json(const Fragment& fragment) {
  Json operands = Json::array();
  for (const FragmentOperand& operand : fragment.operands) operands.push_back(to_json(operand));
  print({{"instruction", to_string(fragment.instruction)},
         {"name", ptx_name(fragment.instruction)},
         {"threads", fragment.threads},
         {"notes", fragment.notes},
         {"operands", operands}});
}

void print_text(const Fragment& fragment, int thread) {
  const bool colour = report::wants_colour(stdout);
  fmt::print("{}\n", report::styled(ptx_name(fragment.instruction), report::Style::heading, colour));
  for (const std::string& note : fragment.notes) fmt::print("{}", report::paragraph(note, report::page_width));
  for (const FragmentOperand& operand : fragment.operands) {
    fmt::print("\n{}", report::paragraph(lens::describe(operand), report::page_width));
    const auto* part = std::get_if<lens::InRegisters>(&operand.where);
    if (part && !part->address_lanes.empty())
      fmt::print("  lanes {} to {} give the addresses of its rows\n", part->address_lanes.front(),
                 part->address_lanes.back());
    print_grid(operand, thread, colour);
    if (!part) print_lines(operand, colour);
  }
  print_thread(fragment, thread, colour);
}

ExitCode show_fragment(const FragmentArguments& a) {
  if (a.instruction.empty()) {
    fmt::print("{}", lens::tensor_instruction_grammar());
    return success;
  }
  const Fragment fragment = lens::fragment_of(
      lens::parse_tensor_instruction(known_type_names(fmt::format("{}", fmt::join(a.instruction, " ")))));
  const int lane = a.lane.value_or(0);
  if (lane >= fragment.threads)
    throw InvalidArgument(fmt::format("--lane: {} is executed by {} threads, 0 to {}; got {}, the nearest is {}",
                                      to_string(fragment.instruction), fragment.threads, fragment.threads - 1, lane,
                                      fragment.threads - 1));
  if (a.lane && a.json && !a.picture.wanted())
    throw InvalidArgument("--lane marks one lane, and --json is of all alike; --svg or --png draws a marked one");
  if (a.picture.wanted()) write(pages::fragment_picture(fragment, lane), a.picture);
  if (a.json)
    print_json(fragment);
  else
    print_text(fragment, lane);
  return success;
}

}  // namespace

Command add_fragment(App program) {
  App app = program.add_subcommand("fragment",
                                   "which lane holds which elements of the operands of an instruction of tensor cores");
  const auto a = std::make_shared<FragmentArguments>();
  const Option instruction = app.add_option("INSTRUCTION", a->instruction, "as below; without it, what there is");
  app.add_option("--lane", a->lane, "the lane that is marked, of wgmma the thread of the warpgroup (0)")
      .check(whole_number(0, 127))
      .needs(instruction)
      .type_name("N");
  const auto [svg, png] = add_picture_options(app, a->picture);
  svg.needs(instruction);
  png.needs(instruction);
  app.add_flag("--json", a->json, "print JSON").needs(instruction);
  app.footer("\n" + lens::tensor_instruction_grammar() +
             "\n  lapidary fragment mma m16n8k16 bf16 --lane 5 --svg fragment.svg\n"
             "  lapidary fragment ldmatrix x4.trans\n"
             "  lapidary fragment wgmma m64n128k16 bf16 a=k/128 b=mn/64\n"
             "  lapidary fragment HMMA.1688.F32.BF16");
  return {app, [a] { return show_fragment(*a); }};
}

}  // namespace lapidary::cli
