#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "cli/type_names.hpp"
#include "core/error.hpp"
#include "layout/box_report.hpp"
#include "layout/tensor_map.hpp"
#include "report/table.hpp"

namespace lapidary::cli {
namespace {

struct TmaArguments {
  std::string type = "bf16", fill = "zero";
  std::vector<std::uint64_t> size, stride;
  std::vector<int> box, element_strides, at;
  int swizzle = 0, rows = 16;
  std::uint64_t base = 0;
  bool json = false;
};

struct NamedType {
  const char* name;
  TensorType type;
};
constexpr NamedType types[] = {
    {"u8", TensorType::u8},   {"e4m3", TensorType::u8},   {"e5m2", TensorType::u8}, {"u16", TensorType::u16},
    {"u32", TensorType::u32}, {"i32", TensorType::i32},   {"u64", TensorType::u64}, {"i64", TensorType::i64},
    {"f16", TensorType::f16}, {"bf16", TensorType::bf16}, {"f32", TensorType::f32}, {"tf32", TensorType::tf32},
    {"f64", TensorType::f64},
};

template <class T>
void set(T* to, const std::vector<T>& values, std::size_t count, const char* what) {
  if (values.size() != count)
    throw InvalidArgument(fmt::format("--{} has {} values; as many as --size has modes{}: {}", what, values.size(),
                                      std::string_view(what) == "stride" ? ", without the first" : "", count));
  std::copy(values.begin(), values.end(), to);
}

TensorBox tensor_of(const TmaArguments& a) {
  TensorBox tensor;
  const auto named = std::find_if(std::begin(types), std::end(types),
                                  [&](const NamedType& t) { return t.name == a.type; });
  if (named == std::end(types)) {
    std::string names;
    for (const NamedType& type : types) names += fmt::format("{}{}", names.empty() ? "" : ", ", type.name);
    throw InvalidArgument(fmt::format("there is no type {}; legal are {}", a.type, names));
  }
  if (a.size.empty() || a.size.size() > TensorBox::max_rank)
    throw InvalidArgument(fmt::format("--size has {} modes; a tensor has 1 to {}", a.size.size(), TensorBox::max_rank));
  if (a.swizzle != 0 && a.swizzle != 32 && a.swizzle != 64 && a.swizzle != 128)
    throw InvalidArgument(fmt::format("--swizzle {}: 0, 32, 64 and 128 bytes are legal", a.swizzle));
  if (a.fill != "zero" && a.fill != "nan")
    throw InvalidArgument(fmt::format("--fill {}: zero and nan are legal", a.fill));
  const std::size_t rank = a.size.size();
  tensor.base = reinterpret_cast<const void*>(256 + a.base);  // any address that cudaMalloc gives, and an offset
  tensor.rank = static_cast<std::uint8_t>(rank);
  tensor.type = named->type;
  tensor.swizzle = a.swizzle == 0 ? TensorSwizzle::none
                                  : static_cast<TensorSwizzle>(a.swizzle == 32   ? 1
                                                               : a.swizzle == 64 ? 2
                                                                                 : 3);
  tensor.fill = a.fill == "nan" ? TensorFill::nan : TensorFill::zero;
  set(tensor.size, a.size, rank, "size");
  set(tensor.box, a.box, rank, "box");
  std::uint64_t dense = a.size[0] * static_cast<std::uint64_t>(size_of(tensor.type));
  for (std::size_t mode = 1; mode < rank; ++mode) {
    tensor.stride[mode - 1] = dense;
    dense *= a.size[mode];
  }
  if (!a.stride.empty()) set(tensor.stride, a.stride, rank - 1, "stride");
  if (a.element_strides.size() > rank)
    throw InvalidArgument(fmt::format("--element-strides has {} values; as many as --size has modes, or fewer: {}",
                                      a.element_strides.size(), rank));
  for (std::size_t mode = 0; mode < a.element_strides.size(); ++mode) {
    if (a.element_strides[mode] < 1 || a.element_strides[mode] > 8)
      throw InvalidArgument(fmt::format("--element-strides has {}; 1 to 8 are legal", a.element_strides[mode]));
    tensor.element_stride[mode] = static_cast<std::uint8_t>(a.element_strides[mode]);
  }
  require_legal(tensor);
  return tensor;
}

ExitCode tma(const TmaArguments& a) {
  const TensorBox tensor = tensor_of(a);
  int coordinates[TensorBox::max_rank] = {};
  if (!a.at.empty()) set(coordinates, a.at, tensor.rank, "at");
  if (const int beyond = misalignment_of(tensor, coordinates); beyond != 0)
    throw InvalidArgument(fmt::format("--at begins with {}; a box begins at a multiple of 16 bytes, the nearest is {}",
                                      coordinates[0], coordinates[0] - beyond / size_of(tensor.type)));
  const std::vector<BoxRow> rows = box_report(tensor, coordinates);
  const int period = 8 * span_of(tensor.swizzle), alignment = std::max(128, period);
  if (a.json) {
    Json list = Json::array();
    for (const BoxRow& row : rows)
      list.push_back({{"global", row.global}, {"inside", {row.inside_first, row.inside_end}}, {"chunks", row.offsets}});
    print({{"type", a.type},
           {"fill", a.fill},
           {"box_bytes", box_bytes(tensor)},
           {"row_bytes", row_bytes(tensor)},
           {"row_pitch", row_pitch(tensor)},
           {"alignment", alignment},
           {"rows", list}});
    return success;
  }
  fmt::print("box {} of {}: {} rows of {} bytes, {} bytes, which the mbarrier expects\n", fmt::join(a.box, " x "),
             a.type, rows.size(), row_bytes(tensor), box_bytes(tensor));
  if (period > 0)
    fmt::print("swizzle of {} bytes: repeats after {} bytes, to which the tile is aligned; rows are {} bytes apart\n",
               a.swizzle, period, row_pitch(tensor));
  else
    fmt::print("no swizzle: the tile is aligned to {} bytes\n", alignment);
  const bool reaches_out = std::any_of(rows.begin(), rows.end(), [&](const BoxRow& row) {
    return row.inside_first > 0 || row.inside_end < row_bytes(tensor);
  });
  if (reaches_out) fmt::print("what is outside of the tensor becomes {}\n", a.fill == "nan" ? "NaN" : "zero");
  using report::Column;
  report::Table table({{"row", Column::number},
                       {"byte of the tensor", Column::number},
                       {"bytes inside"},
                       {"where the row's 16-byte chunks go in shared memory", Column::wrapped}});
  const std::size_t shown = std::min(rows.size(), static_cast<std::size_t>(a.rows));
  for (std::size_t r = 0; r < shown; ++r) {
    const BoxRow& row = rows[r];
    table.add_row({{static_cast<std::uint64_t>(r)},
                   {fmt::format("{}", row.global)},
                   {row.inside_end > 0 ? fmt::format("{}-{}", row.inside_first, row.inside_end - 1) : "none"},
                   {fmt::format("{}", fmt::join(row.offsets, " "))}});
  }
  fmt::print("\n{}", table.render(report::wants_colour(stdout)));
  if (shown < rows.size()) fmt::print("... and {} more rows; see --rows\n", rows.size() - shown);
  return success;
}

}  // namespace

Command add_tma(App program) {
  App app = program.add_subcommand("tma", "where the Tensor Memory Accelerator puts each row of a box");
  const auto a = std::make_shared<TmaArguments>();
  app.add_list("--size", a->size, "the tensor's elements along each mode, innermost first, such as 4096,4096")
      .required()
      .type_name("N,...");
  app.add_list("--box", a->box, "the box's elements along each mode, such as 64,128").required().type_name("N,...");
  app.add_option("--type", a->type, "of the elements, such as e4m3, bf16, f32 (bf16)")
      .transform(known_type())
      .type_name("TYPE");
  app.add_option("--swizzle", a->swizzle, "0, 32, 64 or 128 bytes (0)").type_name("BYTES");
  app.add_list("--stride", a->stride, "bytes from an element to the next of mode 1, 2, ... (those of a dense tensor)")
      .type_name("BYTES,...");
  app.add_list("--element-strides", a->element_strides, "of the box's elements every so many-th is copied (1,...)")
      .type_name("N,...");
  app.add_list("--at", a->at, "the box's coordinates, which may lie outside (0,...)").type_name("N,...");
  app.add_option("--fill", a->fill, "what is outside becomes zero or nan (zero)").type_name("FILL");
  app.add_option("--base", a->base, "the tensor's first byte, counted from an aligned address (0)").type_name("BYTES");
  const Option rows = app.add_option("--rows", a->rows, "how many rows are printed (16)").check(in_range(1, 1 << 20));
  app.add_flag("--json", a->json, "print JSON, with all rows").excludes(rows);
  return {app, [a] { return tma(*a); }};
}

}  // namespace lapidary::cli
