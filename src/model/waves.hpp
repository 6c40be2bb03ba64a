#pragma once
#include <cstdint>

#include "core/math.hpp"
#include "layout/require.hpp"

namespace lapidary::model {

/// A grid on a GPU: as many blocks run at a time as fit, and the last of these waves may leave SMs without work.
struct Waves {
  std::int64_t blocks;    ///< of the grid
  std::int64_t per_wave;  ///< that run at a time: SMs * resident blocks of each
  std::int64_t count;     ///< waves, the last one included
  double last;            ///< how full the last one is, above 0 to 1; 0 without blocks
  /// Work done over work that `count` full waves would do: the share of the time in which blocks have work if all of
  /// them take as long; 0 without blocks.
  double efficiency;
};

/// `blocks` is not negative, the other two are at least 1.
constexpr Waves waves(std::int64_t blocks, int sms, int blocks_per_sm) {
  require(blocks >= 0, "waves: blocks are not negative", blocks, 0);
  require(sms >= 1, "waves: a GPU has at least 1 SM", sms, 1);
  require(blocks_per_sm >= 1, "waves: at least 1 block fits an SM", blocks_per_sm, 1);
  const std::int64_t per_wave = std::int64_t{sms} * blocks_per_sm;
  if (blocks == 0) return {0, per_wave, 0, 0, 0};
  const std::int64_t count = ceil_div(blocks, per_wave);
  const std::int64_t in_last = blocks - (count - 1) * per_wave;
  return {blocks, per_wave, count, static_cast<double>(in_last) / static_cast<double>(per_wave),
          static_cast<double>(blocks) / static_cast<double>(count * per_wave)};
}

}  // namespace lapidary::model
