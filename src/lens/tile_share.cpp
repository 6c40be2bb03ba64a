#include "lens/tile_share.hpp"

#include <fmt/format.h>

#include <functional>

#include "core/error.hpp"

namespace lapidary::lens {
namespace {

std::vector<Range> ranges_of(const std::vector<bool>& has) {
  std::vector<Range> ranges;
  for (int i = 0; i < static_cast<int>(has.size()); ++i) {
    if (!has[static_cast<std::size_t>(i)]) continue;
    if (!ranges.empty() && ranges.back().last == i - 1) {
      ranges.back().last = i;
    } else {
      ranges.push_back({i, i});
    }
  }
  return ranges;
}

Share share_of(const TileOwners& owners, const std::function<bool(int thread)>& is_its) {
  std::vector<bool> rows(static_cast<std::size_t>(owners.tile.m)), cols(static_cast<std::size_t>(owners.tile.n));
  int results = 0;
  for (int i = 0; i < owners.tile.m; ++i) {
    for (int j = 0; j < owners.tile.n; ++j) {
      if (!is_its(owners.thread(i, j))) continue;
      rows[static_cast<std::size_t>(i)] = cols[static_cast<std::size_t>(j)] = true;
      ++results;
    }
  }
  Share share{ranges_of(rows), ranges_of(cols), 0, 0, results};
  share.row_count = count_of(share.rows);
  share.col_count = count_of(share.cols);
  return share;
}

}  // namespace

int count_of(const std::vector<Range>& ranges) {
  int count = 0;
  for (const Range& r : ranges) count += r.last - r.first + 1;
  return count;
}

std::string to_string(const std::vector<Range>& ranges) {
  std::string text;
  for (const Range& r : ranges) {
    if (!text.empty()) text += ", ";
    text += r.first == r.last ? std::to_string(r.first) : fmt::format("{}-{}", r.first, r.last);
  }
  return text;
}

Share share_of_thread(const TileOwners& owners, int thread) {
  if (thread < 0 || thread >= owners.threads) {
    throw InvalidArgument(
        fmt::format("a block of this kernel has the threads 0 to {}; got {}", owners.threads - 1, thread));
  }
  return share_of(owners, [=](int t) { return t == thread; });
}

Share share_of_warp(const TileOwners& owners, int warp) {
  if (warp < 0 || warp >= owners.warps()) {
    throw InvalidArgument(
        fmt::format("a block of this kernel has the warps 0 to {}; got {}", owners.warps() - 1, warp));
  }
  return share_of(owners, [=](int t) { return t / 32 == warp; });
}

Share share_of_block(const TileOwners& owners) {
  return share_of(owners, [](int) { return true; });
}

}  // namespace lapidary::lens
