// Which cards and drivers are refused, and what they are told, by versions alone: no GPU is needed.
#include "device/gpu_refusal.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace lapidary {
namespace {

/// What a build has unless CMAKE_CUDA_ARCHITECTURES says otherwise.
constexpr std::string_view usual = "80;90a-real";

/// The id and the text of a refusal.
std::string told(const std::optional<BrokenRule>& broken) {
  if (!broken) return "";
  return std::string(refusal_ids[static_cast<std::size_t>(broken->id)]) + ": " + broken->why;
}

TEST(GpuRefusal, DriversOfTheMajorVersionDo) {
  EXPECT_EQ(told(driver_refusal(0, 13000)),
            "device.none: no driver of NVIDIA's is installed; CUDA 13.0 or newer must be supported");
  EXPECT_EQ(told(driver_refusal(12080, 13010)),
            "device.driver: the driver supports CUDA 12.8, and this program needs one that supports 13.0 or newer");
  for (const int driver : {13000, 13010, 13020, 14000}) EXPECT_EQ(told(driver_refusal(driver, 13010)), "") << driver;
}

TEST(GpuRefusal, CardsBefore80AreNamed) {
  EXPECT_EQ(told(card_refusal("Tesla T4", 75, 13000, 13000, usual)),
            "device.card: Tesla T4 has compute capability 7.5; kernels need 8.0 or newer");
  EXPECT_NE(told(card_refusal("Tesla V100-SXM2-16GB", 70, 13000, 13000, usual)), "");
  // No kernel would compile for it.
  EXPECT_NE(told(card_refusal("Tesla T4", 75, 13000, 13000, "75;80")), "");
  for (const int capability : {80, 86, 87, 89, 90, 100, 120})
    EXPECT_EQ(told(card_refusal("a card", capability, 13000, 13000, usual)), "") << capability;
}

TEST(GpuRefusal, CardsWithoutCodeNeedADriverThatCompilesIt) {
  EXPECT_EQ(told(card_refusal("NVIDIA H200", 90, 13000, 13010, usual)), "");
  EXPECT_EQ(told(card_refusal("NVIDIA B200", 100, 13010, 13010, usual)), "");
  EXPECT_EQ(told(card_refusal("NVIDIA B200", 100, 13000, 13010, usual)),
            "device.driver: NVIDIA B200 has compute capability 10.0, for which the driver compiles the kernels; this "
            "one supports CUDA 13.0, and one that supports 13.1 or newer is needed");
}

TEST(GpuRefusal, WhatRunsWhereFollowsFromTheArchitectures) {
  struct Case {
    std::string_view architectures;
    int card;
    bool by_old_drivers, by_new_ones;
  };
  for (const auto& [architectures, card, by_old_drivers, by_new_ones] : std::initializer_list<Case>{
           {"90", 80, false, false},
           {"90", 90, true, true},
           {"90", 100, false, true},
           {"90a-real", 90, true, true},
           {"90a-real", 100, false, false},
           {"90a", 100, false, false},
           {"80-real;90a-real", 89, true, true},
           {"80-real;90a-real", 100, false, false},
           {"80-real;90a-real", 120, false, false},
           {"86-real", 80, false, false},
           {"86-real", 89, true, true},
           {"80-virtual", 80, false, true},
           {"80,90a-real,100-real", 103, true, true},
           {"80,90a-real,100-real", 120, false, true},
           {"100f-real", 103, true, true},
           {"100f", 120, false, false},
           // What CMake finds out for itself is not known here.
           {"native", 90, true, true},
           {"native", 100, false, true},
           {"", 80, true, true},
       }) {
    SCOPED_TRACE(testing::Message() << architectures << " on " << card);
    EXPECT_EQ(told(card_refusal("a card", card, 13000, 13010, architectures)).empty(), by_old_drivers);
    EXPECT_EQ(told(card_refusal("a card", card, 13010, 13010, architectures)).empty(), by_new_ones);
  }
  EXPECT_EQ(told(card_refusal("NVIDIA A100", 80, 13000, 13000, "90a-real;120")),
            "device.card: NVIDIA A100 has compute capability 8.0; kernels need 9.0 or newer");
  EXPECT_EQ(
      told(card_refusal("NVIDIA B200", 100, 13000, 13000, "80-real;90a-real")),
      "device.card: NVIDIA B200 has compute capability 10.0, and kernels are compiled for 80-real;90a-real alone; "
      "build them for 100, by CMAKE_CUDA_ARCHITECTURES");
}

TEST(GpuRefusal, IsThrownWithWhatElseToUse) {
  EXPECT_NO_THROW(require_none({}));
  try {
    require_none(card_refusal("Tesla T4", 75, 13000, 13000, usual));
    FAIL() << "it is refused";
  } catch (const Refusal& refusal) {
    EXPECT_STREQ(refusal.id(), "device.card");
    EXPECT_STREQ(
        refusal.what(),
        "there is no GPU to run on: Tesla T4 has compute capability 7.5; kernels need 8.0 or newer; use the "
        "emulated machine: open_emulator(), in C LAPIDARY_EMULATED, --device emulator of commands that have it");
  }
}

}  // namespace
}  // namespace lapidary
