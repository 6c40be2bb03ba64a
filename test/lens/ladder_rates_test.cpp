#include "lens/ladder_rates.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "lens/explain.hpp"

namespace lapidary::lens {
namespace {

TEST(LadderRates, FastestTileIsTheOneOfTheLeastTime) {
  const model::Predictions all = model::recorded_predictions(model::find_gpu("h200"));
  const Rung& rung = find_rung("multistage");
  const std::optional<model::PredictedTime> best = fastest_tile(all, rung);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->size, page_size);
  EXPECT_DOUBLE_EQ(best->measured_flops(), 2.0 * 4096 * 4096 * 4096 / best->measured_s);
  for (const model::PredictedTime& time : all.times)
    if (time.kernel == rung.name() && time.type == best->type && time.size == page_size) {
      EXPECT_LE(best->measured_s, time.measured_s) << time.tile;
    }
}

TEST(LadderRates, FloorsAreThoseOfTheUnitsThatTheCardHas) {
  const std::vector<LadderFloor> floors = ladder_floors(model::find_gpu("h200"));
  ASSERT_EQ(floors.size(), 2u);
  EXPECT_EQ(floors[0].units, "f32");
  EXPECT_EQ(floors[0].times.front().kernel, "naive");
  EXPECT_EQ(floors[1].units, "bf16");
  EXPECT_EQ(floors[1].times.front().kernel, "wmma");
  for (const LadderFloor& floor : floors) {
    ASSERT_TRUE(floor.peer);
    EXPECT_LT(*floor.peer, floor.ceiling);
    for (const model::PredictedTime& time : floor.times) EXPECT_LT(time.measured_flops(), floor.ceiling) << time.kernel;
  }
  EXPECT_EQ(ladder_floors(model::find_gpu("rtx 4090")).size(), 1u) << "nothing was timed on its tensor cores";
}

}  // namespace
}  // namespace lapidary::lens
