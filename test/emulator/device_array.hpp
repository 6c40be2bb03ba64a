#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "device/device.hpp"

namespace lapidary::test {

/// An array of a test in device memory.
template <class T>
class DeviceArray {
 public:
  DeviceArray(Device& device, std::span<const T> content, std::string_view label = "array")
      : device_(&device), buffer_(device, content.size_bytes(), label) {
    device.upload(buffer_.data(), content.data(), content.size_bytes());
  }
  DeviceArray(Device& device, std::size_t size, T value = {}, std::string_view label = "array")
      : DeviceArray(device, std::vector<T>(size, value), label) {}
  DeviceArray(const DeviceArray& other) : DeviceArray(*other.device_, other.content()) {}

  T* data() const { return static_cast<T*>(buffer_.data()); }
  std::vector<T> content() const {
    std::vector<T> content(buffer_.bytes() / sizeof(T));
    device_->download(content.data(), buffer_.data(), buffer_.bytes());
    return content;
  }

 private:
  Device* device_;
  DeviceBuffer buffer_;
};

}  // namespace lapidary::test
