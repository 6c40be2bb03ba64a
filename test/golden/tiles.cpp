#include "golden/tiles.hpp"

#include <algorithm>
#include <random>
#include <string_view>

#include "core/error.hpp"

namespace lapidary::test {
namespace {

using emulator::Number;

struct Data {
  const char* name;
  int tiles;
};
constexpr Data all_data[] = {{"normal", 4}, {"wide", 6},    {"subnormal", 3},  {"cancelling", 3},
                             {"zeros", 3},  {"special", 3}, {"overflowing", 3}};

/// Makes bits of numbers. Of the standard's generators and distributions the former alone give the same everywhere.
class Generator {
 public:
  explicit Generator(std::string_view data, std::uint64_t seed) : data_(data), random_(seed) {}

  std::uint64_t number(Number number, bool accumulator) {
    switch (number) {
      case Number::s8:
      case Number::u8: return data_ == "overflowing" ? (random_() % 2 ? 0x80 : 0x7f) : random_() & 0xff;
      case Number::s32: {
        const std::uint64_t small = random_() % 65536 - 32768, near_the_end = random_() % 100000;
        if (data_ != "overflowing") return small & 0xffffffffu;
        return random_() % 2 ? 0x7fffffffu - near_the_end : 0x80000000u + near_the_end;
      }
      case Number::f16: return floating(5, 10, 0, accumulator);
      case Number::bf16: return floating(8, 7, 0, accumulator);
      case Number::tf32:
      case Number::f32: return floating(8, 23, 0, accumulator);
      case Number::e4m3: return floating(4, 3, 0x7f, accumulator);
      case Number::e5m2: return floating(5, 2, 0, accumulator);
      case Number::f64: return floating(11, 52, 0, accumulator);
    }
    return 0;
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  /// @param only_nan  the magnitude of a NaN where there is no infinity, or 0
  std::uint64_t floating(int exponent_bits, int fraction_bits, std::uint64_t only_nan, bool accumulator) {
    const int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - (only_nan ? 1 : 2);
    const std::uint64_t sign = random_() % 2 << (exponent_bits + fraction_bits);
    const std::uint64_t fraction = random_() & ((std::uint64_t{1} << fraction_bits) - 1);
    const auto with_exponent = [&](int field) {
      const std::uint64_t bits = static_cast<std::uint64_t>(std::clamp(field, 0, top)) << fraction_bits | fraction;
      return sign | (bits == only_nan && only_nan ? bits - 1 : bits);
    };
    const auto of_any_size = [&] { return with_exponent(below(top + 1)); };
    const auto of_about_one = [&] { return with_exponent(bias - 3 + below(5)); };
    if (data_ == "wide") return of_any_size();
    // C of about the size of the products, some of which are subnormal numbers times large ones.
    if (data_ == "subnormal")
      return with_exponent(below(4) == 0 ? (accumulator ? bias - 10 : top - below(4)) : below(3));
    if (data_ == "cancelling") return accumulator ? with_exponent(bias - 12 + below(12)) : of_any_size();
    if (data_ == "zeros") return below(3) ? sign : of_any_size();
    if (data_ == "overflowing") return with_exponent(top - below(3));
    if (data_ == "special") {
      const std::uint64_t all_exponents = ((std::uint64_t{1} << exponent_bits) - 1) << fraction_bits;
      const int kind = below(48);
      if (kind == 0) return sign | (only_nan ? only_nan : all_exponents | std::uint64_t{1} << (fraction_bits - 1));
      if (kind <= 2 && !only_nan) return sign | all_exponents;
      if (kind <= 4) return sign;
    }
    return of_about_one();
  }

  std::string_view data_;
  std::mt19937_64 random_;
};

std::vector<unsigned char> bytes_of(const Operand& operand, const std::vector<std::uint64_t>& numbers) {
  std::vector<unsigned char> bytes;
  for (const std::uint64_t number : numbers)
    for (int bit = 0; bit < emulator::width_of(operand.number); bit += 8)
      bytes.push_back(static_cast<unsigned char>(number >> bit));
  return bytes;
}

}  // namespace

std::vector<Tile> make_tiles(const Instruction& instruction) {
  std::vector<Tile> tiles;
  std::uint64_t seed = 0;
  for (const Data& data : all_data) {
    // A tile of wgmma has as many results as several of mma.sync.
    const int count = instruction.d.elements < 512 ? data.tiles : 1;
    for (int i = 0; i < count; ++i) {
      Generator generator(data.name, ++seed);
      const auto numbers = [&](const Operand& operand, bool accumulator) {
        std::vector<std::uint64_t> made;
        for (int n = 0; n < operand.elements; ++n) made.push_back(generator.number(operand.number, accumulator));
        return made;
      };
      std::vector<std::uint64_t> a = numbers(instruction.a, false), b = numbers(instruction.b, false);
      const std::vector<std::uint64_t> c = numbers(instruction.c, true);
      // Neighbours along k cancel, but for every eighth pair.
      if (data.name == std::string_view("cancelling") && !b.empty()) {
        const std::uint64_t sign = std::uint64_t{1} << (emulator::width_of(instruction.a.number) - 1);
        for (std::size_t k = 0; k + 1 < a.size(); k += 2)
          if (k % 16) a[k + 1] = a[k] ^ sign;
        for (std::size_t k = 0; k + 1 < b.size(); k += 2)
          if (k % 16) b[k + 1] = b[k];
      }
      tiles.push_back({data.name, bytes_of(instruction.a, a), bytes_of(instruction.b, b), bytes_of(instruction.c, c)});
    }
  }
  return tiles;
}

std::vector<std::vector<unsigned char>> execute(Device& device, const Instruction& instruction,
                                                std::span<const Tile> tiles) {
  const auto joined = [&](std::vector<unsigned char> Tile::*operand) {
    std::vector<unsigned char> all;
    for (const Tile& tile : tiles) all.insert(all.end(), (tile.*operand).begin(), (tile.*operand).end());
    return all;
  };
  const auto upload = [&](const std::vector<unsigned char>& bytes) {
    DeviceBuffer buffer(device, std::max<std::size_t>(bytes.size(), 16), "operand");
    device.upload(buffer.data(), bytes.data(), bytes.size());
    return buffer;
  };
  const DeviceBuffer a = upload(joined(&Tile::a)), b = upload(joined(&Tile::b)), c = upload(joined(&Tile::c));
  std::vector<unsigned char> all(tiles.size() * instruction.d.bytes(), 0xff);
  const DeviceBuffer d = upload(all);
  instruction.launch(device.stream(), static_cast<int>(tiles.size()), a.data(), b.data(), c.data(), d.data());
  device.synchronize();
  device.download(all.data(), d.data(), all.size());
  std::vector<std::vector<unsigned char>> results;
  for (std::size_t tile = 0; tile < tiles.size(); ++tile) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(tile * instruction.d.bytes());
    results.emplace_back(first, first + static_cast<std::ptrdiff_t>(instruction.d.bytes()));
  }
  return results;
}

std::string to_hex(std::span<const unsigned char> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::vector<unsigned char> from_hex(const std::string& text) {
  constexpr std::string_view digits = "0123456789abcdef";
  if (text.size() % 2) throw InvalidArgument("a text of bytes has two digits for each");
  std::vector<unsigned char> bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::size_t high = digits.find(text[i]), low = digits.find(text[i + 1]);
    if (high == digits.npos || low == digits.npos)
      throw InvalidArgument("a text of bytes has digits 0 to 9 and a to f");
    bytes.push_back(static_cast<unsigned char>(high << 4 | low));
  }
  return bytes;
}

}  // namespace lapidary::test
