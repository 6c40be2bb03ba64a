#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/type_names.hpp"
#include "core/error.hpp"
#include "layout/descriptor_report.hpp"
#include "layout/matrix_descriptor.hpp"
#include "lens/fragment_map.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

struct DescriptorArguments {
  std::string bits, major = "k", type = "bf16";
  int mn = 64;
  bool json = false;
};

struct ElementType {
  const char* name;
  int bytes;
};
constexpr ElementType element_types[] = {{"f16", 2},  {"bf16", 2}, {"tf32", 4}, {"e4m3", 1},
                                         {"e5m2", 1}, {"s8", 1},   {"u8", 1}};

std::uint64_t parse_bits(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = hexadecimal ? text.substr(2) : text;
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != digits.data() + digits.size())
    throw InvalidArgument(
        fmt::format("{} is no matrix descriptor: those are 64 bits, such as 0x4000004000010240", text));
  return bits;
}

Json to_json(const CoreMatrix& core) { return {{"mn", core.mn}, {"k", core.k}, {"rows", core.rows}}; }

ExitCode show_descriptor(const DescriptorArguments& a) {
  const std::uint64_t bits = parse_bits(a.bits);
  const Major major = a.major == "k" ? Major::k : Major::mn;
  const int element_bytes = std::find_if(std::begin(element_types), std::end(element_types), [&](const ElementType& t) {
                              return a.type == t.name;
                            })->bytes;
  if (major == Major::mn && element_bytes != 2)
    throw InvalidArgument(fmt::format("{} is K-major: wgmma reads elements of 16 bits alone MN-major", a.type));
  if (a.mn % 8 != 0)
    throw InvalidArgument(
        fmt::format("an instruction reads multiples of 8 rows or columns; got {}, the nearest legal value is {}", a.mn,
                    std::max(8, a.mn / 8 * 8)));
  const MatrixDescriptor d = decode_matrix_descriptor(bits);
  const int S = span_of(d.swizzle);
  const char* const problem = misalignment_of(d, major);
  const std::vector<CoreMatrix> cores = descriptor_report(d, major, element_bytes, a.mn);
  if (a.json) {
    Json list = Json::array();
    for (const CoreMatrix& core : cores) list.push_back(to_json(core));
    print({{"bits", fmt::format("{:#018x}", bits)},
           {"start", d.start},
           {"leading", d.leading},
           {"stride", d.stride},
           {"base_offset", d.base_offset},
           {"swizzle", S},
           {"major", a.major},
           {"type", a.type},
           {"mn", a.mn},
           {"k", 32 / element_bytes},
           {"problem", problem ? Json(problem) : Json()},
           {"core_matrices", list}});
    return success;
  }
  using report::Column;
  report::Table fields({{"field"}, {"bits"}, {"bytes", Column::number}, {""}});
  const auto add = [&](const char* name, const char* place, int bytes, const std::string& meaning) {
    fields.add_row({{name}, {place}, {fmt::format("{}", bytes)}, {meaning}});
  };
  add("start", "0-13", static_cast<int>(d.start), fmt::format("address {:#x} of shared memory", d.start));
  add("leading (LBO)", "16-29", d.leading, lens::leading_text(d, major, element_bytes));
  add("stride (SBO)", "32-45", d.stride, lens::stride_text(d, major));
  add("base offset", "49-51", d.base_offset, "0 where the tile is aligned to 8 rows of its swizzle");
  add("swizzle", "62-63", S, S == 0 ? "none" : fmt::format("permutes 16-byte chunks of {}-byte rows", S));
  report::Table table(
      {{"from mn", Column::number},
       {"from k", Column::number},
       {major == Major::k ? "addresses of its rows, 16 bytes of k each" : "addresses of its k, 8 of mn each"}});
  for (const CoreMatrix& core : cores) {
    std::string rows;
    for (const std::uint32_t row : core.rows) rows += fmt::format("{}{:#07x}", rows.empty() ? "" : " ", row);
    table.add_row({{fmt::format("{}", core.mn)}, {fmt::format("{}", core.k)}, {rows}});
  }
  const bool colour = report::wants_colour(stdout);
  fmt::print("{:#018x}, {}-major, {}\n\n{}\ncore matrices of one instruction, {} x {}\n\n{}", bits,
             major == Major::k ? "K" : "MN", a.type, fields.render(colour), a.mn, 32 / element_bytes,
             table.render(colour));
  if (problem) fmt::print("\nwgmma does not read a tile as its swizzle has it: {}\n", problem);
  return success;
}

}  // namespace

Command add_descriptor(App program) {
  App app = program.add_subcommand("descriptor",
                                   "a matrix descriptor of wgmma, and the bytes that an instruction reads by it");
  const auto a = std::make_shared<DescriptorArguments>();
  app.add_option("BITS", a->bits, "its 64 bits, such as 0x4000004000010240").required();
  app.add_option("--major", a->major, "k or mn: which mode neighbours in memory are along (k)")
      .check(one_of({"k", "mn"}));
  std::vector<std::string> types;
  for (const ElementType& type : element_types) types.emplace_back(type.name);
  app.add_option("--type", a->type, "of the elements: f16, bf16, tf32, e4m3, e5m2, s8 or u8 (bf16)")
      .transform(known_type())
      .check(one_of(types))
      .type_name("TYPE");
  app.add_option("--mn", a->mn, "rows of A or columns of B that an instruction reads (64, as all have of A)")
      .check(in_range(8, 256));
  app.add_flag("--json", a->json, "print JSON");
  return {app, [a] { return show_descriptor(*a); }};
}

}  // namespace lapidary::cli
