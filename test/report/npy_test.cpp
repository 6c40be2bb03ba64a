#include "report/npy.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/error.hpp"
#include "scratch_folder.hpp"

namespace lapidary::report {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Npy, HoldsTheRowsWithoutTheGaps) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "gaps.npy";
  const std::array<float, 8> data = {1, 2, 3, -1, -1, 4, 5, 6};
  write_npy(path, Type::f32, 2, 3, 5, data.data());
  const std::string file = contents(path);
  ASSERT_EQ(file.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t header = static_cast<unsigned char>(file[8]) + 256u * static_cast<unsigned char>(file[9]);
  EXPECT_EQ((10 + header) % 64, 0u);
  EXPECT_EQ(file[9 + header], '\n');
  EXPECT_NE(file.find("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"), std::string::npos);
  ASSERT_EQ(file.size(), 10 + header + 6 * sizeof(float));
  std::array<float, 6> values;
  std::memcpy(values.data(), file.data() + 10 + header, sizeof(values));
  EXPECT_EQ(values, (std::array<float, 6>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, NamesHalfPrecisionAndEmptyShapes) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "empty.npy";
  write_npy(path, Type::f16, 0, 7, 7, nullptr);
  const std::string file = contents(path);
  EXPECT_NE(file.find("'<f2'"), std::string::npos);
  EXPECT_NE(file.find("(0, 7)"), std::string::npos);
  EXPECT_EQ(file.size(), 128u);
}

TEST(Npy, SaysWhyAFileCannotBeWritten) {
  try {
    write_npy("/nowhere/at/all.npy", Type::f32, 0, 0, 0, nullptr);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "cannot write /nowhere/at/all.npy: No such file or directory");
  }
}

}  // namespace
}  // namespace lapidary::report
