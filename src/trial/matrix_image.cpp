#include "trial/matrix_image.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "core/error.hpp"

namespace lapidary::trial {
namespace {

/// In place of an element a signalling NaN, by the type: arithmetic makes quiet ones of them (IEEE 754-2019, 6.2), so
/// that a result that is still one was not computed from what was there, but never written.
constexpr std::uint64_t poison_of(Element element) {
  constexpr std::uint64_t bits[] = {0x7dad, 0x7fad, 0x7fa0dead, 0x7ff4dead0000dead};
  return bits[static_cast<int>(element)];
}
/// Between rows or columns a quiet one, with a payload that arithmetic does not produce.
constexpr std::uint64_t gap_of(Element element) {
  constexpr std::uint64_t bits[] = {0x7eef, 0x7feb, 0x7fc0beef, 0x7ff8beef0000beef};
  return bits[static_cast<int>(element)];
}

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

}  // namespace

Layouts parse_layouts(std::string_view text) {
  const auto all_of = [&](std::string_view letters) { return text.find_first_not_of(letters) == text.npos; };
  if (text.size() == 3 && all_of("RC")) return {text[0] == 'C', text[1] == 'C', text[2] == 'C'};
  if (text.size() == 2 && all_of("NT")) return {text[0] == 'N', text[1] == 'N', true};
  throw InvalidArgument(
      fmt::format("--layout is `{}`; legal are three letters for A, B and C, R for row-major and C for column-major "
                  "(RRR, RCR), and two of BLAS for A and B, where C is column-major (NN is CCC, TN is RCC)",
                  text));
}

std::string to_string(const Layouts& layouts) {
  std::string text;
  for (const bool column_major : {layouts.a, layouts.b, layouts.c}) text += column_major ? 'C' : 'R';
  return text;
}

void round_to(bench::HostMatrix& matrix, Element element) {
  const bool half = element == Element::f16 && matrix.type() != Type::f16;
  if (!half && (element != Element::bf16 || matrix.type() == Type::bf16)) return;
  const auto rounded = [&](float value) {
    return half ? to_float(from_float<f16>(value)) : to_float(from_float<bf16>(value));
  };
  for (std::int64_t i = 0; i < matrix.rows(); ++i)
    for (std::int64_t j = 0; j < matrix.cols(); ++j)
      if (!matrix.poisoned(i * matrix.ld() + j)) matrix.set(i, j, rounded(matrix.at(i, j)));
}

MatrixImage::MatrixImage(const bench::HostMatrix& matrix, const Storage& storage)
    : storage_(storage),
      rows_(matrix.rows()),
      cols_(matrix.cols()),
      kept_ld_(storage.ld > bench::far_apart ? length() : storage.ld) {
  const std::int64_t elements = extent(kept_ld_);
  memory_.resize(static_cast<std::size_t>(elements * size_of(storage.element)));
  for (std::int64_t i = 0; i < elements; ++i) set_bits(i, gap_of(storage.element));
  for (std::int64_t i = 0; i < rows_; ++i) {
    for (std::int64_t j = 0; j < cols_; ++j) {
      if (matrix.poisoned(i * matrix.ld() + j))
        set_bits(place(i, j), poison_of(storage.element));
      else
        set(place(i, j), matrix.at(i, j));
    }
  }
}

DeviceBuffer MatrixImage::allocate(Device& device, const char* name) const {
  const auto size = static_cast<std::size_t>(size_of(storage_.element));
  const emulator::Lines held = {0, static_cast<std::size_t>(length()) * size,
                                static_cast<std::size_t>(storage_.ld) * size};
  std::size_t touched = memory_.size();
  if (kept_ld_ != storage_.ld) touched += static_cast<std::size_t>(2 * lines() * sysconf(_SC_PAGESIZE));
  return {device, static_cast<std::size_t>(extent(storage_.ld)) * size, name, touched, held};
}

template <class Copy>
void MatrixImage::for_each_run(Copy&& copy) const {
  if (kept_ld_ == storage_.ld) return copy(std::size_t{0}, std::size_t{0}, memory_.size());
  const auto size = static_cast<std::size_t>(size_of(storage_.element)),
             bytes = static_cast<std::size_t>(length()) * size, pitch = static_cast<std::size_t>(storage_.ld) * size;
  for (std::size_t line = 0; line < static_cast<std::size_t>(lines()); ++line) copy(line * pitch, line * bytes, bytes);
}

void MatrixImage::upload(Device& device, void* to) const {
  for_each_run([&](std::size_t there, std::size_t here, std::size_t bytes) {
    device.upload(static_cast<std::byte*>(to) + there, memory_.data() + here, bytes);
  });
}

void MatrixImage::download(Device& device, const void* from) {
  for_each_run([&](std::size_t there, std::size_t here, std::size_t bytes) {
    device.download(memory_.data() + here, static_cast<const std::byte*>(from) + there, bytes);
  });
}

bench::HostMatrix MatrixImage::matrix(Type type) const {
  bench::HostMatrix matrix(type, rows_, cols_, cols_);
  for (std::int64_t i = 0; i < rows_; ++i)
    for (std::int64_t j = 0; j < cols_; ++j)
      if (!has_bits(place(i, j), poison_of(storage_.element))) matrix.set(i, j, static_cast<float>(at(i, j)));
  return matrix;
}

std::int64_t MatrixImage::changed_between() const {
  std::int64_t changed = 0;
  for (std::int64_t line = 0; line + 1 < lines(); ++line)  // the last one ends with its last element
    for (std::int64_t i = length(); i < kept_ld_; ++i)
      changed += !has_bits(line * kept_ld_ + i, gap_of(storage_.element));
  return changed;
}

std::int64_t MatrixImage::changed_from(const MatrixImage& other) const {
  const auto size = static_cast<std::size_t>(size_of(storage_.element));
  std::int64_t changed = 0;
  for (std::size_t i = 0; i < memory_.size(); i += size)
    changed += std::memcmp(memory_.data() + i, other.memory_.data() + i, size) != 0;
  return changed;
}

double MatrixImage::value(std::int64_t place) const {
  const std::byte* const from = memory_.data() + place * size_of(storage_.element);
  switch (storage_.element) {
    case Element::f16: return to_float(read<f16>(from));
    case Element::bf16: return to_float(read<bf16>(from));
    case Element::f32: return read<float>(from);
    case Element::f64: break;
  }
  return read<double>(from);
}

void MatrixImage::set(std::int64_t place, double value) {
  std::byte* const to = memory_.data() + place * size_of(storage_.element);
  const float single = static_cast<float>(value);
  const f16 half = from_float<f16>(single);
  const bf16 brain = from_float<bf16>(single);
  switch (storage_.element) {
    case Element::f16: std::memcpy(to, &half, sizeof(half)); break;
    case Element::bf16: std::memcpy(to, &brain, sizeof(brain)); break;
    case Element::f32: std::memcpy(to, &single, sizeof(single)); break;
    case Element::f64: std::memcpy(to, &value, sizeof(value)); break;
  }
}

void MatrixImage::set_bits(std::int64_t place, std::uint64_t bits) {
  const auto size = static_cast<std::size_t>(size_of(storage_.element));
  std::memcpy(memory_.data() + static_cast<std::size_t>(place) * size, &bits, size);
}

bool MatrixImage::has_bits(std::int64_t place, std::uint64_t bits) const {
  const auto size = static_cast<std::size_t>(size_of(storage_.element));
  return std::memcmp(memory_.data() + static_cast<std::size_t>(place) * size, &bits, size) == 0;
}

}  // namespace lapidary::trial
