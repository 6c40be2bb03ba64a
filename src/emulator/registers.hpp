#pragma once
#include <cstdint>
#include <cstring>

#include "emulator/tensor_core.hpp"

namespace lapidary::emulator {

/// Where the elements of an operand are in a lane's registers, or in memory, which hold them in order, low bits first.
class Registers {
 public:
  explicit Registers(Number number) : bytes_(static_cast<unsigned>(width_of(number)) / 8) {}

  std::uint64_t get(const void* registers, int element) const {
    const auto* const from = static_cast<const unsigned char*>(registers) + static_cast<unsigned>(element) * bytes_;
    switch (bytes_) {
      case 1: return *from;
      case 2: return load<std::uint16_t>(from);
      case 4: return load<std::uint32_t>(from);
      default: return load<std::uint64_t>(from);
    }
  }
  void set(void* registers, int element, std::uint64_t bits) const {
    std::memcpy(static_cast<unsigned char*>(registers) + static_cast<unsigned>(element) * bytes_, &bits, bytes_);
  }
  int packed() const { return bytes_ < 4 ? static_cast<int>(4 / bytes_) : 1; }

 private:
  template <class T>
  static T load(const unsigned char* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  }

  unsigned bytes_;
};

}  // namespace lapidary::emulator
