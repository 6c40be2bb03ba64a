#include "library/way_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster_places.hpp"
#include "core/math.hpp"
#include "kernels/split.hpp"
#include "model/occupancy.hpp"
#include "model/roofline.hpp"
#include "model/warpgroup_time.hpp"
#include "model/waves.hpp"

namespace lapidary::library {
namespace {

using model::Gpu;

double number(std::int64_t value) { return static_cast<double>(value); }

/// Rows of D that kernels with an order of their own stay in until they have been through all columns
/// (tile/raster.hpp).
constexpr std::int64_t group_rows = 2048;

/// How many of the products of a launch have an A, a B or a D of their own.
double products(const Problem& p, Matrix matrix) {
  const std::int64_t stride = matrix == Matrix::A ? p.batch.stride_a : p.batch.stride_b;
  return matrix != Matrix::D && stride == 0 ? 1 : number(p.batch.count);
}

/// What a launch moves between DRAM and L2. A and B come once if both fit L2 together with what else passes through it.
/// Otherwise blocks go through D in groups of rows, or row of tiles by row of tiles: A comes once, as its panel stays
/// while they do, and B once for each group, unless it stays throughout.
double dram_bytes(const Problem& p, const KernelEntry& kernel, std::int64_t l2_bytes) {
  const double size = size_of(p.kind.type), a = number(p.M) * number(p.K) * size, b = number(p.K) * number(p.N) * size;
  const double d = number(p.M) * number(p.N) * size_of(p.kind.result) * products(p, Matrix::D),
               results = p.reads_c() ? 2 * d : d;
  constexpr double held = 0.7;  // of L2, for what is used again
  if (a + b <= held * static_cast<double>(l2_bytes))
    return a * products(p, Matrix::A) + b * products(p, Matrix::B) + results;
  const std::int64_t rows = kernel.order.at ? group_rows : kernel.tile.m;
  const double groups = number(ceil_div<std::int64_t>(p.M, std::max<std::int64_t>(rows, kernel.tile.m)));
  return a * products(p, Matrix::A) +
         (b <= held * static_cast<double>(l2_bytes) / 2 ? b : b * groups) * products(p, Matrix::B) + results;
}

/// Its blocks on one multiprocessor; 0: none fits.
int resident_blocks(const KernelCost& cost, const Gpu& gpu) {
  const int blocks = model::occupancy(
                         gpu, {.threads = cost.threads, .registers = cost.registers, .shared_bytes = cost.shared_bytes})
                         .blocks;
  return cost.persistent ? std::min(blocks, 1) : blocks;
}

/// Multiply-adds of threads of a multiprocessor in a clock, or FLOP of mma.sync; 0: it has no tensor cores for the
/// type.
double multiply_adds(const BuiltInCard& card, Type type) {
  if (type == Type::f32) return card.gpu.fp32_lanes;
  const double form = type == Type::e4m3 ? 16 * 8 * 32 : 16 * 8 * 16;  // of s8 and tf32 one alone was measured
  return model::tensor_flop_per_clk(card.gpu, type) * card.calibration->mma_share(card.gpu, type, form);
}

/// What times ask of a card for each way anew, and is looked up by names or counted by rules.
struct CardNumbers {
  double launch_gap, l2_bytes_one, l2_bytes_all, dram_bytes_all;  ///< constants of its calibration
  std::array<double, std::size(operand_types)> multiply_adds;     ///< by type of operands
  std::vector<int> resident;                                      ///< resident_blocks() of library_kernels()

  explicit CardNumbers(const BuiltInCard& card)
      : launch_gap((*card.calibration)["launch_gap"]),
        l2_bytes_one((*card.calibration)["l2_bytes_one"]),
        l2_bytes_all((*card.calibration)["l2_bytes_all"]),
        dram_bytes_all((*card.calibration)["dram_bytes_all"]) {
    for (const Type type : operand_types)
      multiply_adds[static_cast<std::size_t>(type)] = library::multiply_adds(card, type);
    for (const LibraryKernel& kernel : library_kernels()) resident.push_back(resident_blocks(*kernel.cost, card.gpu));
  }

  double of(Type type) const { return multiply_adds[static_cast<std::size_t>(type)]; }
  int of(const LibraryKernel& kernel) const {
    return resident[static_cast<std::size_t>(&kernel - library_kernels().data())];
  }
};

const CardNumbers& numbers_of(const BuiltInCard& card) {
  struct Kept {
    std::once_flag made;
    std::unique_ptr<const CardNumbers> numbers;
  };
  static const auto kept = std::make_unique<Kept[]>(built_in_cards().size());
  Kept& of_card = kept[static_cast<std::size_t>(&card - built_in_cards().data())];
  std::call_once(of_card.made, [&] { of_card.numbers = std::make_unique<const CardNumbers>(card); });
  return *of_card.numbers;
}

/// What limits a launch in words that last.
const char* lasting(const std::string& limiter) {
  constexpr const char* known[] = {"launch overhead", "tensor cores", "operands from shared memory", "the way from L2",
                                   "DRAM"};
  const auto found = std::find(std::begin(known), std::end(known), limiter);
  return found == std::end(known) ? "something else" : *found;
}

WayTime time_of_warpgroups(const Way& way, const LibraryKernel::Work& work, const BuiltInCard& card, int resident) {
  const Problem& p = way.problem;
  const KernelEntry& kernel = *way.kernel->kernel;
  const KernelCost& cost = *way.kernel->cost;
  const auto& [tile, kind, stages, cluster, slices, cols] = kernel.traits();
  const double size = size_of(kind.type), steps = work.blocks * work.steps;
  const double a = size * tile.m * tile.k, b = size * tile.n * tile.k;
  model::WarpgroupLaunch launch;
  launch.tiles = static_cast<std::int64_t>(work.blocks);
  launch.per_sm = resident;
  launch.blocks = cost.persistent ? std::min<std::int64_t>(launch.tiles, multiprocessors_for(cluster, card.gpu.sms))
                                  : launch.tiles;
  launch.flop = 2.0 * tile.m * tile.n * tile.k * steps;
  launch.flop_per_clk = model::tensor_flop_per_clk(card.gpu, kind.type);
  launch.operand_bytes = (a + b * tile.m / 64) * steps;  // a wgmma has 64 rows
  launch.l2_to_sm_bytes = (a + b) * steps;
  launch.l2_read_bytes = (a / cluster.across + b / cluster.down) * steps;
  launch.dram_bytes = dram_bytes(p, kernel, card.gpu.l2_bytes);
  launch.result_bytes = number(p.M) * number(p.N) * size_of(kind.result) * products(p, Matrix::D);
  // Of the highest clock: bursts of large products on an H100 have 1608 to 1792 of its 1980 MHz
  // (results/h100/tensor.json).
  constexpr double clock = 0.86;
  const model::TimePrediction time = model::predict_time(card.gpu, *card.calibration, launch,
                                                         clock * card.gpu.clock_hz);
  return {time.seconds, lasting(time.limiter)};
}

/// Blocks that wait for memory, or for what a multiprocessor does besides, whichever takes longer, wave after wave. The
/// table has cycles of an H200; those of a card with fewer multiply-adds in each are at least what these take.
WayTime time_of_warps(const Way& way, const LibraryKernel::Work& work, const BuiltInCard& card, int resident) {
  const Problem& p = way.problem;
  const KernelEntry& kernel = *way.kernel->kernel;
  const KernelCost& cost = *way.kernel->cost;
  const Gpu& gpu = card.gpu;
  const CardNumbers& k = numbers_of(card);
  const auto blocks = static_cast<std::int64_t>(work.blocks);
  const int per_sm = std::min(resident, KernelCost::most_blocks);
  const model::Waves waves = model::waves(blocks, gpu.sms, per_sm);
  const double passes = std::ceil(number(p.K) / work.share / cost.depth);
  const double multiplying = 1.0 * kernel.tile.m * kernel.tile.n * cost.depth * (p.kind.type == Type::f32 ? 1 : 2) /
                             k.of(p.kind.type);
  const double l2_bytes = (kernel.tile.m + kernel.tile.n) * cost.depth * size_of(p.kind.type);
  const double result_bytes = 1.0 * kernel.tile.m * kernel.tile.n * size_of(p.kind.result) / work.share;
  const double dram = (dram_bytes(p, kernel, gpu.l2_bytes) - work.blocks * result_bytes) / work.blocks /
                      std::max(1.0, passes);
  const char* limiter = "";
  const auto wave = [&](std::int64_t at_a_time) {
    const double active = number(std::min<std::int64_t>(at_a_time, gpu.sms));
    const auto on_one = static_cast<std::size_t>(ceil_div<std::int64_t>(at_a_time, gpu.sms));
    double computing = 0;
    for (std::size_t n = on_one; n > 0 && computing == 0; --n) computing = cost.pass_cycles[n - 1] * number(on_one) / n;
    const double n = number(static_cast<std::int64_t>(on_one)), share = gpu.sms / active;
    const double from_l2 = n * l2_bytes / std::min(k.l2_bytes_one, k.l2_bytes_all * share);
    const double from_dram = n * dram / std::min(k.l2_bytes_one, k.dram_bytes_all * share);
    const double storing = n * result_bytes / std::min(k.l2_bytes_one, k.l2_bytes_all * share);
    computing = std::max(computing, n * multiplying);
    const double slowest = std::max({computing, from_l2, from_dram});
    if (!*limiter) limiter = slowest == computing ? "multiply-adds" : slowest == from_l2 ? "the way from L2" : "DRAM";
    return cost.start_cycles + passes * slowest + storing;
  };
  const std::int64_t full = blocks / waves.per_wave, rest = blocks % waves.per_wave;
  double cycles = 0;
  if (full > 0) cycles += number(full) * wave(waves.per_wave);
  if (rest > 0) cycles += wave(rest);
  return {cycles / gpu.clock_hz + k.launch_gap * 1e-9, limiter};
}

/// Lines of A and of B that a block asks for, step by step, in the mean over all blocks; where tiles are in no grid
/// those beyond D are copied as well.
struct AskedFor {
  double a, b;
};
AskedFor asked_for(const Problem& p, const KernelEntry& kernel, const LibraryKernel::Work& work) {
  const auto& [m, n, k] = kernel.tile;
  if (work.steps <= few_steps || kernel.order.tiles)
    return {1.0 * m / kernel.cluster.across, 1.0 * n / kernel.cluster.down};
  const auto [rows, columns] = work.tiles;
  const double of_d = number(ceil_div<std::int64_t>(p.M, m)), across = number(ceil_div<std::int64_t>(p.N, n));
  return {m * of_d / number(rows) / kernel.cluster.across, n * across / number(columns) / kernel.cluster.down};
}

/// Pieces of 128 bytes that blocks ask for of what lies outside of A and B.
double pieces_outside(const Problem& p, const KernelEntry& kernel, const LibraryKernel::Work& work) {
  const auto [rows, columns] = work.tiles;
  const AskedFor lines = asked_for(p, kernel, work);
  const double outside = lines.a - number(p.M) / number(rows) / kernel.cluster.across + lines.b -
                         number(p.N) / number(columns) / kernel.cluster.down;
  return work.blocks * work.steps * outside * kernel.tile.k * size_of(p.kind.type) / 128;
}

/// Microseconds for which L2 is busy with what all blocks ask it for of lines that begin at no multiples of 128 bytes.
double crooked_microseconds(const Problem& p, const KernelEntry& kernel, const LibraryKernel::Work& work,
                            bool in_bulk) {
  const auto of_each = [&](const MatrixShape& x, bool along_k) {
    const std::int64_t pitch = x.ld * size_of(x.type) | 128, begins = pitch & -pitch,
                       line = x.length() * size_of(x.type);
    const bool is_short = in_bulk && !along_k && line < 128;
    return begins == 128 ? 0 : MeasuredCost::of_short_line(is_short ? line : 128) / MeasuredCost::crooked_rows(begins);
  };
  const AskedFor lines = asked_for(p, kernel, work);
  const double crooked = lines.a * of_each(shape_of(p, Matrix::A), p.kind.a == Order::row_major) +
                         lines.b * of_each(shape_of(p, Matrix::B), p.kind.b == Order::column_major);
  return work.blocks * work.steps * crooked * kernel.tile.k * size_of(p.kind.type) / 128;
}

/// How far results are from being stored in whole lines: 1 if one by one.
double apart_of(const Problem& p) {
  const int size = size_of(p.kind.result);
  const auto begin_at = [&](std::int64_t bytes) { return p.ldd * size % bytes == 0 && p.aligned.D % bytes == 0; };
  if (p.N % 2 != 0 || !begin_at(2 * size)) return 1;
  return begin_at(16) ? 0 : MeasuredCost::apart_in_pairs;
}

/// How many multiprocessors have room for a launch's blocks.
double places_of(const KernelEntry& kernel, const LibraryKernel::Work& work, int multiprocessors) {
  return work.share > 1 ? number(KSplit::room_for_clusters(work.share, multiprocessors))
                        : multiprocessors_for(kernel.cluster, multiprocessors);
}

/// How many times as long cycles of a card take as those of the H200 that was measured, ...
double slower_than_measured(const Gpu& gpu) { return h200().gpu.clock_hz / gpu.clock_hz; }
/// ... and how many times the bytes its memory gives.
double bandwidth_by_measured(const Gpu& gpu) { return gpu.dram_bytes_per_s / h200().gpu.dram_bytes_per_s; }

/// As it was measured on an H200, at the clock and with the memory of another card with its chip.
WayTime time_measured(const Way& way, const LibraryKernel::Work& work, const BuiltInCard& card, int resident) {
  const MeasuredCost& m = *way.kernel->measured;
  const Problem& p = way.problem;
  const KernelEntry& kernel = *way.kernel->kernel;
  const KernelCost& cost = *way.kernel->cost;
  const Gpu& gpu = card.gpu;
  const double slower = slower_than_measured(gpu), bandwidth = bandwidth_by_measured(gpu);
  const double places_of_card = places_of(kernel, work, gpu.sms);
  const double rounds = work.blocks / (places_of_card * resident), full = std::floor(rounds), rest = rounds - full;
  // What of all operands is asked for, or comes from DRAM, comes in equal parts with the tiles of every round.
  const double size = size_of(p.kind.type), a = number(p.M) * number(p.K) * size * products(p, Matrix::A),
               b = number(p.K) * number(p.N) * size * products(p, Matrix::B);
  const double operands = (a / m.a_rate + b / m.b_rate) / bandwidth +
                          slower * pieces_outside(p, kernel, work) / m.outside;
  const bool in_bulk = cost.depth == 0 && way.kernel->in_bulk;
  const double crooked = slower * crooked_microseconds(p, kernel, work, in_bulk);
  const auto longest = [&](double a, double b) {
    if (b == 0) return a;
    return cost.depth > 0 ? std::max(a, b) : std::sqrt(std::sqrt(a * a * a * a + b * b * b * b));
  };
  // A multiprocessor that has a block more than others is done last; what rounding adds to a whole number is none.
  // Where blocks have a multiprocessor to themselves `loaded` counts by the card's share, and of those that stream by
  // pairs of multiprocessors.
  const bool streams = kernel.split && kernel.split->bytes_on_their_way > 0;
  const int places = resident == 1 && streams ? 2 : resident;
  const bool draws_evenly = cost.depth > 0 || (streams && resident > 2);
  const double of_card = streams && resident == 1 && work.share > 1 ? places_of_card / gpu.sms : 1;
  const double operands_of_round = operands / rounds, crooked_of_round = crooked / rounds;
  const auto busiest = [&](double share) {
    return cost.depth > 0 || places > 1 ? std::ceil(share * places - 1e-9) / places : share;
  };
  // Of all rounds.
  double walk = 0, multiplying = 0, arriving = 0, from_dram = 0, of_lines = 0;
  const auto add_rounds = [&](double count, double share) {
    const double computed = slower * (m.start + work.steps * std::max(m.alone, m.loaded * busiest(share))),
                 drawn = operands_of_round * (draws_evenly ? share : MeasuredCost::drawn(share * of_card)),
                 asked = crooked_of_round * share, arrived = longest(drawn, asked);
    walk += count * longest(computed, arrived);
    multiplying += count * computed;
    arriving += count * arrived;
    from_dram += count * drawn;
    of_lines += count * asked;
  };
  if (full > 0) add_rounds(full, 1);
  if (rest > 0) add_rounds(1, rest);
  const int result_size = size_of(p.kind.result);
  const bool halves = in_bulk && p.ldd * result_size % 32 == 16;
  const double d = number(p.M) * number(p.N) * result_size * products(p, Matrix::D) *
                   (halves ? MeasuredCost::half_sectors : 1);
  const double stored = longest(walk, d / MeasuredCost::writing / bandwidth);
  const double apart = cost.depth > 0 ? 0 : apart_of(p);
  const double results = (1 + (m.odd - 1) * apart) * d / m.d_rate / bandwidth;
  const bool unaligned = cost.depth > 0 && !vectorizable(p);
  const double ragged = unaligned ? m.ragged : 1;
  const double whole = std::min(1.0, number(p.M) / kernel.tile.m) * std::min(1.0, number(p.N) / kernel.tile.n);
  const double stores = slower * m.singly * (unaligned ? 1 : apart) * whole * std::ceil(rounds);
  const double summing = work.share > 1 ? slower * m.summing : 0;
  const double microseconds = m.fixed + ragged * (stored + results) + stores + summing;
  // What steps along K are fitted to is products, or weights that come as fast as they can, or neither.
  const auto of_steps = [&] {
    const double flop = 2.0 * a * number(p.N) / size * (number(p.batch.count) / products(p, Matrix::A)),
                 in_a_clock = p.kind.type == Type::f32 ? 2.0 * gpu.fp32_lanes
                                                       : model::tensor_flop_per_clk(gpu, p.kind.type),
                 peak = in_a_clock * gpu.sms * gpu.clock_hz;
    if (flop / peak > microseconds * 1e-6 / 2) return "multiply-adds";
    return dram_bytes(p, kernel, gpu.l2_bytes) / gpu.dram_bytes_per_s > microseconds * 1e-6 / 2 ? "DRAM"
                                                                                                : "steps along K";
  };
  // Results take longest where writing them makes the walk half as long again.
  const char* const limiter = m.fixed > microseconds / 2              ? "launch overhead"
                              : ragged > 1                            ? "lines that are not aligned"
                              : results > walk || stored > 1.5 * walk ? "results"
                              : multiplying > arriving                ? of_steps()
                              : from_dram > of_lines                  ? "DRAM"
                                                                      : "lines that begin anywhere";
  return {microseconds * 1e-6, limiter};
}

/// Launches ahead of a kernel, or behind it, as parts of the time from one empty launch to the next: on an H200 with
/// a first copy of a few bytes a kernel took 2.5 to 2.9 microseconds longer than it is fitted to alone, with a second
/// one 1.4 to 1.6 more: medians of 1600 and 850 timings.
constexpr double first_launch = 0.7, next_launch = 0.4;

/// A copy reads and writes each element once.
double time_of(const PackedMatrix& packed, const BuiltInCard& card) {
  const Packing& p = packed.packing;
  const double bytes = 2 * number(p.rows) * number(p.cols) * size_of(p.type);
  const CardNumbers& k = numbers_of(card);
  // Of the bandwidth, what a copy gets on an H200: one that turns lines moves elements one by one.
  const double turned = size_of(p.type) == 1 ? 0.36 : size_of(p.type) == 2 ? 0.47 : 0.64;
  const double share = p.from == p.to ? 0.87 : turned;
  return bytes / (share * k.dram_bytes_all * card.gpu.sms * card.gpu.clock_hz);
}

/// What a kernel that finishes is longer at its tiles for it: its multiprocessor does nothing else meanwhile.
double time_of_epilogue(const Way& way, const LibraryKernel::Work& work, const BuiltInCard& card, int resident) {
  const Problem& p = way.problem;
  const Epilogue& e = p.epilogue;
  const KernelEntry& kernel = *way.kernel->kernel;
  if (!kernel.finishes) return 0;
  // Of 128 x 256 results, in microseconds on an H200; what is not a bias of columns or an activation is asked for anew
  // for each slice of them.
  constexpr double bias = 0.3, logistic = 1.1, simple = 0.2, residual = 4, asked = 0.6;
  const bool plain = e.bias != Bias::of_rows && !e.residual && !e.scale && !e.clamp;
  const bool curved = e.activation == Activation::gelu_tanh || e.activation == Activation::silu;
  const double each = (plain ? 0 : asked) + (e.bias != Bias::none ? bias : 0) + (curved ? logistic : 0) +
                      (e.residual ? residual : 0) + simple * (e.scale + e.clamp + (e.activation == Activation::relu));
  const double rounds = std::ceil(number(work.tiles.row * work.tiles.col) / (1.0 * card.gpu.sms * resident));
  return rounds * each * kernel.tile.m * kernel.tile.n / (128 * 256) * h200().gpu.clock_hz / card.gpu.clock_hz * 1e-6;
}

/// A second launch reads sums, of each part of K, and C and a residual if there are any, and writes results.
double time_of(const Finishing& finishing, int parts, const BuiltInCard& card) {
  const Problem& p = finishing.problem;
  const int matrices = 1 + (p.reads_c() ? 1 : 0) + (p.epilogue.residual ? 1 : 0);
  const double bytes = number(p.M) * number(p.N) *
                       (1.0 * parts * size_of(Type::f32) + 1.0 * matrices * size_of(p.kind.result));
  const CardNumbers& k = numbers_of(card);
  // Of the bandwidth: meanwhile the last of the sums go from L2 to DRAM. What is taken for parts was not timed apart:
  // their kernels are fitted beside it (script/fit-costs, ADDING).
  const double share = parts > 1 ? 0.9 : 0.48;
  return bytes / (share * k.dram_bytes_all * card.gpu.sms * card.gpu.clock_hz);
}

/// Of kernels that could begin while the launch in front of them ends, and wait for it (docs/tried.md, "Launches that
/// share the card"): a launch takes longer by a gap, and where blocks are in each other's way less its time is less by
/// a factor.
struct Waiting {
  static constexpr double gap_s = 0.6e-6, factor = 0.94;
  static constexpr double least_share = 0.5, most_share = 0.85;  ///< of places that blocks take
  static constexpr double rounds = 1.5;                          ///< more, of a batch's blocks without clusters
};

/// Whether a kernel may wait: alone. Behind a copy or a second launch it begins when that has ended anyway, as these
/// let no kernel begin before.
bool may_wait(const Way& way) {
  const auto is_made = [](const std::optional<PackedMatrix>& copy) { return copy && !copy->prepared; };
  return way.kernel->overlaps && !way.finishing && !is_made(way.a) && !is_made(way.b);
}

/// By which factor a launch takes less, besides the gap, if it begins with all multiprocessors idle.
double factor_of_waiting(const Way& way, const LibraryKernel::Work& work, const BuiltInCard& card, int resident) {
  const KernelEntry& kernel = *way.kernel->kernel;
  if (!way.kernel->in_bulk) return 1;
  const double rounds = work.blocks / (places_of(kernel, work, card.gpu.sms) * resident);
  const int cluster = kernel.cluster.down * kernel.cluster.across;
  const bool fill_gpcs = rounds > Waiting::least_share && rounds <= Waiting::most_share && cluster < 8 &&
                         work.share <= 8;
  const bool in_order = way.problem.batch.count > 1 && rounds > Waiting::rounds && cluster == 1;
  return fill_gpcs || in_order ? Waiting::factor : 1;
}

/// Groups as they are taken to be: a batch of products that have the rows in equal parts.
Way evenly(Way way) {
  Problem& p = way.problem;
  const std::int64_t count = std::min<std::int64_t>(p.groups, p.M), own = 1;
  p.batch = {count, own, p.batch.stride_b, own, own};
  p.M = ceil_div(p.M, count);
  p.groups = 0;
  return way;
}

}  // namespace

LeastTimes::LeastTimes(const Problem& problem, const BuiltInCard& card)
    : product_(problem),
      count_(number(problem.batch.count)),
      multiprocessors_(card.gpu.sms),
      is_measured_(card.gpu.compute_capability == 90),
      slower_(slower_than_measured(card.gpu)),
      bandwidth_(bandwidth_by_measured(card.gpu)),
      resident_(numbers_of(card).resident.data()) {
  product_.batch = {};
  if (problem.alpha == Factor::zero) product_.K = 0;
}

double LeastTimes::of(const LibraryKernel& kernel) const {
  const KernelEntry& entry = *kernel.kernel;
  // Of products that a launch does together blocks share K by their number, and of parts of K by what is best.
  const bool is_known = is_measured_ && kernel.measured && product_.groups == 0 && product_.split == 1 &&
                        !(entry.batches && (count_ == 1 || entry.split));
  const int resident = is_known ? resident_[&kernel - library_kernels().data()] : 0;
  if (resident == 0) return 0;
  const MeasuredCost& m = *kernel.measured;
  const double together = entry.batches ? count_ : 1;
  const LibraryKernel::Work work = kernel.work(product_, multiprocessors_);
  const double places = places_of(entry, work, multiprocessors_), rounds = work.blocks * together / (places * resident),
               full = std::floor(rounds), rest = rounds - full;
  const auto round = [&](double share) { return m.start + work.steps * std::max(m.alone, m.loaded * share); };
  const double multiplying = slower_ * ((full > 0 ? full * round(1) : 0) + (rest > 0 ? round(rest) : 0));
  const double size = size_of(entry.kind.type), M = number(product_.M), N = number(product_.N), K = number(product_.K);
  const double arriving = (M * K / m.a_rate + K * N / m.b_rate) * size * places / multiprocessors_ / bandwidth_;
  const double results = M * N * size_of(entry.kind.result) * together * std::min(1.0, m.odd) / m.d_rate / bandwidth_;
  const double microseconds = m.fixed + std::min(1.0, m.ragged) * (std::max(multiplying, arriving) + results);
  return Waiting::factor * microseconds * 1e-6 * (entry.batches ? 1 : count_);
}

std::optional<WayTime> time_of(const Way& way, const Batch& batch, const BuiltInCard& card, std::optional<bool> waits) {
  if (way.problem.groups > 0) return time_of(evenly(way), batch, card, waits);
  const KernelCost& cost = *way.kernel->cost;
  const CardNumbers& numbers = numbers_of(card);
  const int resident = numbers.of(*way.kernel);
  if (resident == 0 || numbers.of(way.problem.kind.type) <= 0) return {};
  const bool measured = way.kernel->measured && card.gpu.compute_capability == 90;
  const LibraryKernel::Work work = way.kernel->work(way.problem, card.gpu.sms);
  WayTime time = measured         ? time_measured(way, work, card, resident)
                 : cost.depth > 0 ? time_of_warps(way, work, card, resident)
                                  : time_of_warpgroups(way, work, card, resident);
  time.seconds += time_of_epilogue(way, work, card, resident);
  if (may_wait(way)) {
    const double factor = measured ? factor_of_waiting(way, work, card, resident) : 1;
    const double waiting = time.seconds * factor + Waiting::gap_s;
    time.waits = waits.value_or(waiting < time.seconds);
    if (time.waits) time.seconds = waiting;
  }
  const double count = number(way.launches(batch.count));
  double copying = 0, finishing = 0;
  if (way.a || way.b || way.finishing) {
    const double gap = numbers.launch_gap * 1e-9;
    double next = first_launch * gap;
    for (const auto& [packed, stride] : {std::pair(&way.a, batch.stride_a), {&way.b, batch.stride_b}}) {
      if (!*packed || (*packed)->prepared) continue;
      copying += (time_of(**packed, card) + std::exchange(next, next_launch * gap)) * (stride == 0 ? 1 : count);
    }
    if (way.parts() > 1) next = next_launch * gap;  // it overlaps with the kernel
    if (way.finishing) finishing = (time_of(*way.finishing, way.parts(), card) + next) * count;
  }
  if (std::max(copying, finishing) > time.seconds * count)
    time.limiter = copying > finishing ? "copies" : "the second launch";
  time.seconds = time.seconds * count + copying + finishing;
  return time;
}

}  // namespace lapidary::library
