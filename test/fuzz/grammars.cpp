#include <fmt/format.h>

#include "cli/access_grammar.hpp"
#include "cli/options.hpp"
#include "core/error.hpp"
#include "fuzz.hpp"
#include "kernels/registry.hpp"
#include "lapidary/gemm.hpp"
#include "lens/tensor_instruction.hpp"
#include "model/visiting_order.hpp"
#include "trial/matrix_image.hpp"

namespace lapidary::fuzz {
namespace {

int offset_of(const Layout& layout, const Layout::Coordinates& i) {
  switch (layout.rank()) {
    case 1: return layout(i[0]);
    case 2: return layout(i[0], i[1]);
    case 3: return layout(i[0], i[1], i[2]);
    default: return layout(i[0], i[1], i[2], i[3]);
  }
}

/// What a layout promises of its elements, of the first, the last and one between.
void require_consistent(const Layout& layout) {
  const int end = layout.cosize();
  for (const int part : {0, 1, 2}) {
    Layout::Coordinates index{};
    for (int m = 0; m < layout.rank(); ++m)
      index[static_cast<std::size_t>(m)] = part * ((layout.shape(m) - 1) / 2) +
                                           (part == 2) * ((layout.shape(m) - 1) % 2);
    const int offset = offset_of(layout, index);
    if (offset < 0 || offset >= end)
      throw Violation(fmt::format("{}: offset {} of {}", to_string(layout), offset, end));
    if (layout.inverse(offset) != index)
      throw Violation(fmt::format("{}: the inverse of offset {} is another element", to_string(layout), offset));
  }
}

/// A layout, and on a second line an access.
void read_access(const std::string& input) {
  const std::size_t line = std::min(input.find('\n'), input.size());
  const cli::TypedLayout tile = cli::parse_layout(std::string_view(input).substr(0, line));
  const std::string text = tile.type + " " + to_string(tile.layout);
  const cli::TypedLayout again = cli::parse_layout(text);
  require_same("a layout's text", text, again.type + " " + to_string(again.layout));
  if (again.layout != tile.layout) throw Violation("a layout's text is that of another one");
  require_consistent(tile.layout);
  if (line == input.size()) return;
  const TileAccess access = cli::parse_access(std::string_view(input).substr(line + 1), tile);
  const WarpAccess at = addresses(access, tile.layout, tile.element_bytes);
  if (at.active != access.active) throw Violation("other lanes take part in the addresses than in the access");
}

void read_id(const std::string& input) {
  const KernelId id = parse_kernel_id(input);
  require_same("a kernel's id", input, id.rung + "_" + to_string(id.traits));
}

/// Whatever it may be the name of. @throws Error if of nothing
void read_name(const std::string& input) {
  int accepted = 0;
  std::string refusal;
  const auto attempt = [&](const auto& parse) {
    try {
      parse();
      ++accepted;
    } catch (const Error& error) {
      if (*error.what() == 0) throw Violation("a refusal without a message");
      refusal = error.what();
    }
  };
  attempt([&] { cli::parse_type(input); });
  attempt([&] {
    const GemmKind kind = cli::parse_kind(input);
    if (cli::parse_kind(to_string(kind)) != kind) throw Violation("a kind's text is that of another one");
  });
  attempt([&] {
    const std::string raster = to_string(model::parse_raster(input));
    require_same("a raster", raster, to_string(model::parse_raster(raster)));
  });
  attempt([&] {
    const TileShape tile = cli::parse_tile(input);
    if (tile.m < 1 || tile.n < 1 || tile.k < 0) throw Violation("a tile without elements");
  });
  attempt([&] { static_cast<void>(trial::parse_layouts(input)); });
  attempt([&] {
    const lens::TensorInstruction instruction = lens::parse_tensor_instruction(input);
    if (lens::parse_tensor_instruction(to_string(instruction)) != instruction)
      throw Violation("an instruction's text is that of another one");
    static_cast<void>(ptx_name(instruction));
  });
  attempt([&] { find_rung(input); });
  if (accepted == 0) throw InvalidArgument(refusal);
}

std::vector<std::string> kernel_ids() {
  std::vector<std::string> ids;
  for (const Rung& rung : ladder())
    for (const KernelEntry& kernel : rung.kernels) ids.push_back(kernel.id());
  return ids;
}

/// A plan's id, or what is none: what is taken is the id of the plan that it makes, which says what it is.
void read_plan_id(const std::string& input) {
  const Plan plan = plan_of(input);
  if (plan.id() != input) throw Violation("the plan has another id: " + plan.id());
  static_cast<void>(plan.why());
  if (!(plan.way().seconds >= 0)) throw Violation("it is expected to take less than no time");
}

std::vector<std::string> plan_ids() {
  std::vector<std::string> ids;
  std::int64_t size = 1;
  for (const Rung& rung : ladder())
    for (const KernelEntry& kernel : rung.kernels) {
      Problem p = {.kind = kernel.kind, .M = size, .N = size * 3 % 1000, .K = size * 7 % 4000};
      size = size * 5 % 10000 + 1;
      if (size % 3 == 0) p.batch = {2, 0, 0, 0, std::int64_t{1} << 32};
      p.order_d = size % 2 ? Order::row_major : Order::column_major;
      ids.push_back(plan(p, size % 2 ? "h200" : "rtx 4090").id());
    }
  return ids;
}

std::vector<std::string> instruction_names() {
  std::vector<std::string> names = {"f32",          "bf16/f32",  "bf16 RC",   "half",
                                    "RCR",          "TN",        "128x128x8", "32x32",
                                    "rows",         "grouped:8", "hilbert",   "HMMA.16816.F32.BF16",
                                    "wgmma_cluster"};
  const auto& all = lens::tensor_instructions();
  for (std::size_t i = 0; i < all.size(); i += 7) {
    names.push_back(to_string(all[i]));
    if (all[i].kind != lens::TensorInstruction::Kind::wmma) names.push_back(ptx_name(all[i]));
  }
  return names;
}

}  // namespace

std::vector<Target> grammar_targets() {
  return {{"accesses",
           {"8x128+5\nread 128 [1, lane % 16 * 8]", "f16 64x128+2/64\nldmatrix x4 [lane % 16, lane / 16 * 8]",
            "128x32^3,2,3\nread 128 [lane % 8, lane / 8 * 4] if lane < 16", "(128,8):(1,128)\nwrite [lane * 4, 3]",
            "bf16 (4,64,64):(4096,1,64)^<3,3,3>\nread 16 [lane >> 3, lane & 7, lane ^ 5]", "u8 1024+4/256\nread [lane]",
            "f64 (2,3,5,7)\nread [lane % 2, lane % 3, lane % 5, lane % 7]", "(16,8,2,8):(64,8,1024,1)"},
           {"read", "write", "ldmatrix", "x1", "x2", "x4", "if", "lane", "f16", "f32", "f64", "u8",   "half",
            "+",    "-",     "*",        "/",  "%",  "<<", ">>", "&",    "^",   "|",   "==",  "!=",   "<=",
            ">=",   "(",     ")",        ",",  "[",  "]",  ":",  "x",    "\n",  "^<",  ">",   "+4/64"},
           read_access},
          {"plans",
           plan_ids(),
           {"1.", "h200", "RCR", ".ld", ".at", ".n2-", "zovm", "i.", "none", ".pab", "x", "-", "9223372036854775807"},
           read_plan_id},
          {"ids",
           kernel_ids(),
           {"naive", "_", "x", "_s4", "_c2x1", "_e2x64", "bf16", "f32", "e4m3", "-", "-RC", "-RR", "-f32", "s8"},
           read_id},
          {"names",
           instruction_names(),
           {"mma", "wgmma", "wmma",   "ldmatrix", "m16n8k16", "m64n256k16", "bf16", "f16", "e4m3",
            "f32", "x4",    ".trans", ".sync",    ".aligned", ".row",       ".col", "/",   " ",
            ".",   "x",     ":",      "grouped",  "R",        "C",          "HMMA", "IMMA"},
           read_name}};
}

}  // namespace lapidary::fuzz
