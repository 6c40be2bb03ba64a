#pragma once
#include <cstddef>
#include <cstring>
#include <vector>

#include "core/types.hpp"
#include "device/device.hpp"

namespace lapidary::test {

/// Writes numbers, rounded to a type, to device memory.
inline void upload_as(Device& device, void* to, Type type, const std::vector<float>& numbers) {
  std::vector<std::byte> raw(numbers.size() * static_cast<std::size_t>(size_of(type)));
  with_type(type, [&](auto element) {
    using T = decltype(element);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const T value = from_float<T>(numbers[i]);
      std::memcpy(raw.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  device.upload(to, raw.data(), raw.size());
}

/// Reads so many numbers of a type from device memory.
inline std::vector<float> download_of(Device& device, const void* from, Type type, std::size_t count) {
  std::vector<std::byte> raw(count * static_cast<std::size_t>(size_of(type)));
  device.download(raw.data(), from, raw.size());
  std::vector<float> numbers(count);
  with_type(type, [&](auto element) {
    using T = decltype(element);
    for (std::size_t i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
      numbers[i] = to_float(value);
    }
  });
  return numbers;
}

}  // namespace lapidary::test
