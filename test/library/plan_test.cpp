// A plan depends on what it is asked for and on nothing else, its id makes it again, and what is chosen for which card
// is on record. No kernel runs here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/workload.hpp"
#include "core/batch.hpp"
#include "core/cluster_places.hpp"
#include "core/math.hpp"
#include "core/refusal.hpp"
#include "kernels/registry.hpp"
#include "lapidary/gemm.hpp"
#include "library/canonical.hpp"
#include "library/cards.hpp"
#include "library/kernel_cost.hpp"
#include "library/measured_cost.hpp"
#include "library/plan_data.hpp"
#include "library/way.hpp"
#include "library/way_time.hpp"
#include "model/roofline.hpp"

namespace lapidary {
namespace {

constexpr Order row = Order::row_major, column = Order::column_major;

Problem problem_of(const GemmKind& kind, std::int64_t M, std::int64_t N, std::int64_t K) {
  Problem p = {.kind = kind, .M = M, .N = N, .K = K};
  p.aligned = {16, 16, 16, 16};
  return p;
}

std::string refusal_of(const auto& call) {
  try {
    call();
  } catch (const Refusal& refusal) {
    return refusal.what();
  }
  return {};
}

TEST(Plan, IsMadeAgainFromItsId) {
  std::mt19937 random(3);
  const auto pick = [&](auto... values) {
    const std::array list = {values...};
    return list[random() % list.size()];
  };
  for (int i = 0; i < 300; ++i) {
    const Type type = pick(Type::f32, Type::f16, Type::bf16, Type::tf32, Type::e4m3, Type::s8);
    Problem p = problem_of(
        {type, random() % 2 ? GemmKind(type).result : Type::f32, pick(row, column), pick(row, column)},
        pick(0, 1, 77, 128, 4096), pick(1, 64, 1000), pick(0, 1, 63, 512));
    p.order_d = pick(row, column);
    p.alpha = pick(Factor::any, Factor::one, Factor::zero);
    p.beta = pick(Factor::any, Factor::zero);
    p.in_place = p.beta != Factor::zero && random() % 2 == 0;
    const int size = size_of(p.kind.type), result_size = size_of(p.kind.result);
    p.aligned = {pick(16, size), pick(16, size), pick(16, result_size), pick(16, result_size)};
    if (random() % 3 == 0) p.batch = {3, 1 << 23, 0, 1 << 23, 1 << 23};
    // Of what nobody reads the stride may be any.
    if (p.K == 0) p.batch.stride_a = -5, p.batch.stride_b = -(1 << 23);
    if (p.kind.type == Type::s8 && p.alpha == Factor::one && p.beta == Factor::zero) p.kind.result = Type::s32;
    const Plan made = plan(p, pick("h200", "h100 pcie", "rtx 4090"));
    SCOPED_TRACE(made.id());
    const Plan again = plan_of(made.id());
    EXPECT_EQ(again.id(), made.id());
    EXPECT_EQ(again.problem(), made.problem());
    EXPECT_EQ(again.card(), made.card());
    EXPECT_EQ(again.way().kernel, made.way().kernel);
    EXPECT_EQ(again.way().seconds, made.way().seconds);
    EXPECT_EQ(again.workspace_bytes(), made.workspace_bytes());
    EXPECT_LE(made.id().size(), 400u);
  }
}

// A plan weighs no kernel of which it knows at once that another one is quicker; who asks for all ways has them
// weighed.
TEST(Plan, IsOfTheQuickestOfAllWays) {
  std::mt19937 random(9);
  const auto pick = [&](auto... values) {
    const std::array list = {values...};
    return list[random() % list.size()];
  };
  const auto size = [&] {
    const auto most = std::int64_t{1} << pick(4, 7, 9, 11, 13, 17);
    return (1 + static_cast<std::int64_t>(random()) % most) * pick(1, 1, 8);
  };
  int planned = 0;
  for (int i = 0; i < 3000; ++i) {
    const Type type = pick(Type::f32, Type::f16, Type::f16, Type::bf16, Type::tf32, Type::e4m3, Type::s8);
    Problem p = problem_of(
        {type, random() % 4 ? GemmKind(type).result : Type::f32, pick(row, column), pick(row, column)}, size(), size(),
        size());
    p.order_d = pick(row, row, column);
    p.alpha = pick(Factor::one, Factor::any, Factor::zero);
    p.beta = pick(Factor::zero, Factor::any);
    p.epilogue.activation = pick(Activation::none, Activation::none, Activation::gelu_tanh);
    if (random() % 4 == 0) p.aligned.D = size_of(p.kind.result);
    const auto batch = pick(1, 1, 2, 64);
    const bool groups = batch == 1 && random() % 4 == 0 && p.epilogue == Epilogue{} && p.alpha != Factor::zero &&
                        (type == Type::f16 || type == Type::bf16);
    if (groups) {
      p.kind.result = type;
      p.kind.a = p.order_d = row;
      p.groups = 8;
      p.batch.stride_b = p.K * p.N;
    } else if (batch > 1) {
      p.batch = one_after_another(resolved(p), batch);
    }
    const GemmOptions options = {.workspace_bytes = pick(std::size_t{0}, std::size_t{1} << 24, std::size_t{1} << 40),
                                 .batch_invariant = !groups && random() % 8 == 0,
                                 .fast_accumulation = random() % 2 == 0,
                                 .prepared = {random() % 8 == 0, random() % 8 == 0}};
    std::optional<Plan> made;
    // Some options leave no way.
    if (!refusal_of([&] { made = plan(p, pick("h200", "h100 pcie", "h100 sxm5", "a100 sxm4 80gb"), options); }).empty())
      continue;
    ++planned;
    const PlannedWay &way = made->way(), &first = made->ways().front();
    const auto whole = [](const PlannedWay& w) {
      return std::tuple(w.kernel, w.packs_a, w.packs_b, w.parts, w.waits, w.finishes, w.workspace_bytes, w.seconds);
    };
    EXPECT_EQ(whole(way), whole(first)) << made->id();
    // Those of all its ways are at least as long, and not only in order.
    const Problem problem = library::with_row_major_results(made->problem());
    const library::BuiltInCard& card = library::find_card(made->card());
    const library::LeastTimes least(problem, card);
    const auto look_for = [](const library::LibraryKernel&) { return library::Verdict::look_for; };
    library::each_way(problem, card.gpu, {}, options.workspace_bytes, true, look_for, [&](const library::Way& each) {
      const auto time = time_of(each, problem.batch, card);
      EXPECT_LE(least.of(*each.kernel), time ? time->seconds : INFINITY) << made->id() << " by " << each.kernel->id;
    });
  }
  EXPECT_GT(planned, 2000);
}

TEST(Plan, IsForTheNearestCardThatRunsTheSameKernels) {
  const auto card = [](const char* name, int compute_capability) -> std::string {
    return library::card_of_device(name, compute_capability).gpu.name;
  };
  EXPECT_EQ(card("NVIDIA A100-SXM4-80GB", 80), "A100 SXM4 80GB");
  EXPECT_EQ(card("NVIDIA H200", 90), "H200");
  EXPECT_EQ(card("NVIDIA GH200 480GB", 90), "H100 SXM5") << "the first of its compute capability";
  EXPECT_EQ(card("Orin", 87), "RTX 3090");
  EXPECT_EQ(card("NVIDIA B300", 103), "B200");
  EXPECT_EQ(card("NVIDIA GB10", 121), "RTX 5090");
  EXPECT_EQ(card("NVIDIA H200", 80), "A100 SXM4 40GB") << "a name does not tell what runs";
  EXPECT_THROW(card("Tesla P100", 60), InvalidArgument);
  for (const library::BuiltInCard& known : library::built_in_cards())
    for (const std::string& name : {known.gpu.name, library::slug_of(known.gpu), "NVIDIA " + known.gpu.name})
      EXPECT_EQ(&library::find_card(name), &known) << name;
  for (const int there : {80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121})
    for (const library::LibraryKernel& kernel : library::library_kernels()) {
      const int chosen_for = library::card_of_device("unknown", there).gpu.compute_capability;
      const GemmKind& kind = kernel.kernel->kind;
      EXPECT_LE(kernel.rung->runs_on(chosen_for, kind), kernel.rung->runs_on(there, kind)) << there;
    }
}

TEST(Plan, RefusesTextsThatAreNoIds) {
  const std::string id = plan(problem_of({Type::f16, Type::f16, row, column}, 512, 256, 64), "h200").id();
  EXPECT_EQ(id.rfind("1.h200.f16-RCR.512x256x64.ld64-64-256-256.at16-16-16-16.oz.wgmma_", 0), 0u) << id;
  std::mt19937 random(5);
  const std::string letters = "0123456789.-xRCabcdpz_ \n\"";
  int made = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = id;
    const std::size_t at = random() % text.size();
    const char letter = letters[random() % letters.size()];
    if (random() % 3 == 0)
      text.erase(at, 1);
    else if (random() % 2 == 0)
      text.insert(at, 1, letter);
    else
      text[at] = letter;
    if (text == id) continue;
    // What is an id all the same is the one of the plan that it makes.
    if (refusal_of([&] { EXPECT_EQ(plan_of(text).id(), text); }).empty()) ++made;
  }
  EXPECT_LT(made, 1000);
  EXPECT_NE(refusal_of([] { plan_of(""); }).find("is no plan's id"), std::string::npos);
  EXPECT_NE(refusal_of([] { plan_of(std::string(10000, 'x')); }).find("is no plan's id"), std::string::npos);
}

TEST(Plan, SaysWhyAndHowLong) {
  const Plan p = plan(problem_of({Type::f16, Type::f16, row, column}, 4096, 4096, 4096), "h200");
  EXPECT_EQ(p.card(), "H200");
  ASSERT_GT(p.ways().size(), 3u);
  for (std::size_t i = 1; i < p.ways().size(); ++i) EXPECT_GE(p.ways()[i].seconds, p.ways()[i - 1].seconds);
  EXPECT_NE(p.why().find(p.way().kernel + " is expected to take"), std::string::npos) << p.why();
  EXPECT_NE(p.why().find(p.ways()[1].kernel), std::string::npos) << p.why();
  const std::string of_any_rows = plan(p.problem(), "h200", {.batch_invariant = true}).why();
  EXPECT_NE(of_any_rows.find("it adds up as for any number of rows; the next best"), std::string::npos) << of_any_rows;
  EXPECT_GT(p.way().seconds, 150e-6);
  EXPECT_LT(p.way().seconds, 250e-6);
  const Plan nothing = plan(problem_of(Type::f32, 0, 5, 7), "h200");
  EXPECT_EQ(nothing.why(), "D has no elements: there is nothing to do");
}

TEST(Plan, IsAsAUsersTableSays) {
  const Problem p = problem_of({Type::f16, Type::f16, row, column}, 4096, 4096, 4096);
  const Plan own = plan(p, "h200");
  const std::string other = own.ways()[1].kernel, line = "f16-RCR 4096x4096x4096 " + other;
  const auto table = [](const std::string& text) { return std::make_shared<const ChoiceTable>(text); };
  const Plan told = plan(p, "h200", {.table = table("# measured\n\n" + line + "  # twice\n")});
  EXPECT_EQ(told.way().kernel, other);
  EXPECT_FALSE(told.way().packs_a || told.way().packs_b);
  EXPECT_NE(told.id().find("-t" + table(line)->hash()), std::string::npos) << told.id();
  EXPECT_NE(told.why().find("the table " + table(line)->hash() + " has it so"), std::string::npos) << told.why();
  EXPECT_EQ(plan_of(told.id()).way().kernel, other);
  EXPECT_EQ(plan_of(told.id()).id(), told.id());
  EXPECT_NE(table(line + " a")->hash(), table(line)->hash());
  const Problem another = problem_of({Type::f16, Type::f16, row, column}, 4096, 4096, 2048);
  EXPECT_EQ(plan(another, "h200", {.table = table(line)}).id(), plan(another, "h200").id());
  // Of a product with an epilogue its line says that.
  Problem followed = p;
  followed.epilogue.activation = Activation::relu;
  const std::string fused = plan(followed, "h200").ways()[1].kernel;
  const auto both = table(line + "\nf16-RCR 4096x4096x4096.relu " + fused);
  EXPECT_EQ(plan(p, "h200", {.table = both}).way().kernel, other);
  EXPECT_EQ(plan(followed, "h200", {.table = both}).way().kernel, fused);
  EXPECT_EQ(plan(followed, "h200", {.table = table(line)}).id(), plan(followed, "h200").id());
  // B is row-major: the kernel needs a copy, which the table has to say.
  const Problem turned = problem_of({Type::f16, Type::f16, row, row}, 512, 512, 512);
  const std::string copies = "f16-RRR 512x512x512 wgmma_staged_128x256x64_s4_e2x64_f16-RC";
  EXPECT_TRUE(plan(turned, "h200", {.table = table(copies + " b")}).way().packs_b);
  EXPECT_EQ(plan(turned, "h200", {.table = table(copies)}).id(), plan(turned, "h200").id());
  // What the table does not know: lines that its kernel does not take, and a card that does not have it.
  Problem shifted = p;
  shifted.lda = 4097;
  EXPECT_EQ(plan(shifted, "h200", {.table = table(line)}).id(), plan(shifted, "h200").id());
  EXPECT_EQ(plan(p, "a100 sxm4 40gb", {.table = table(line)}).id(), plan(p, "a100 sxm4 40gb").id());
  // Nor what the options say of the choice.
  for (const GemmOptions& options :
       {GemmOptions{.kernel = own.ways()[2].kernel}, {.packs = PackedOperands{true, false}}}) {
    GemmOptions with_table = options;
    with_table.table = table(line);
    EXPECT_EQ(plan(p, "h200", with_table).id(), plan(p, "h200", options).id());
  }
  // A column that is planned as a row is found by its own sizes, and by those that its plan has.
  const Problem column_of_d = problem_of({Type::f16, Type::f16, row, column}, 4096, 1, 4096);
  EXPECT_EQ(plan(column_of_d, "h200").problem().order_d, column);
  for (const char* const types : {"f16-RCR", "f16-RCC"}) {
    const std::string text = types + std::string(" 4096x1x4096 mma_multistage_128x256x32_s4_f16-CR ab");
    EXPECT_EQ(plan(column_of_d, "h200", {.table = table(text)}).way().kernel, "mma_multistage_128x256x32_s4_f16-CR");
  }
  // A single row may be written as it lies, or as a row-major one, which it is, too.
  const Problem row_of_a = problem_of({Type::f16, Type::f16, column, column}, 1, 4096, 4096);
  const std::string kernel = " wgmma_waves_64x128x64_s8_e2x64_f16-RC";
  for (const char* const types : {"f16-CCR", "f16-RCR"})
    EXPECT_EQ(plan(row_of_a, "h200", {.table = table(types + (" 1x4096x4096" + kernel))}).way().kernel,
              kernel.substr(1));
  // Of either order there may be a line, in any order.
  const std::string as_column = "f16-RCR 512x1x512 wgmma_waves_64x64x64_s13_e1x64_f16-RC\n",
                    as_row = "f16-RRR 512x1x512 wgmma_waves_64x64x64_s13_e1x64_f16\n";
  for (const std::string& text : {as_column + as_row, as_row + as_column}) {
    EXPECT_NE(table(text)->find(resolved(problem_of({Type::f16, Type::f16, row, column}, 512, 1, 512))), nullptr);
    EXPECT_EQ(table(text)->find(resolved(problem_of({Type::f16, Type::f16, row, row}, 512, 1, 512)))->kernel,
              "wgmma_waves_64x64x64_s13_e1x64_f16");
  }
  EXPECT_NE(refusal_of([&] { table(line + "\n" + line); }).find("line 2 of the table"), std::string::npos);
  EXPECT_NE(refusal_of([&] { table("f16-RCR 4096x4096x4096 no_kernel"); }), "");
  for (const char* const epilogue : {".gelu", ".none", ".relu-bias_of_columns", "."})
    EXPECT_NE(refusal_of([&] { table(fmt::format("f16-RCR 8x8x8{} {}", epilogue, other)); }), "") << epilogue;
  for (const char* const text : {"f16-RCR", "f16-RCR 1x1x1", " c", " a b"})
    EXPECT_NE(refusal_of([&] { table(text[0] == ' ' ? line + text : text); }).find("is no choice"), std::string::npos)
        << text;
}

// A column of results is a row of the transposed product: it is planned as what is quicker.
TEST(Plan, TakesAColumnOfResultsForARow) {
  for (const GemmKind& types :
       {GemmKind(Type::f16, Type::f16, row, column), GemmKind(Type::f16), GemmKind(Type::f32)}) {
    const Plan column_of_d = plan(problem_of(types, 4096, 1, 4096), "h200");
    Problem transposed = problem_of(types, 1, 4096, 4096);
    transposed.kind.b = column;
    EXPECT_EQ(column_of_d.way().kernel, plan(transposed, "h200").way().kernel) << to_string(types);
    EXPECT_EQ(column_of_d.way().seconds, plan(transposed, "h200").way().seconds);
    EXPECT_FALSE(column_of_d.way().packs_a || column_of_d.way().packs_b);
    EXPECT_EQ(plan_of(column_of_d.id()).way().kernel, column_of_d.way().kernel);
    // Of an outer product, too, A and B are read along their only column and row.
    const Plan outer = plan(problem_of(types, 512, 512, 1), "h200");
    Problem columns = problem_of(types, 512, 512, 1);
    columns.kind.a = column, columns.kind.b = row;
    EXPECT_EQ(outer.id(), plan(columns, "h200").id());
    // Not with gaps between results.
    Problem apart = problem_of(types, 4096, 1, 4096);
    apart.ldd = 2;
    EXPECT_EQ(plan(apart, "h200").problem().order_d, Order::row_major);
  }
}

TEST(Plan, SplitsALongKOfFewTiles) {
  for (const Type result : {Type::bf16, Type::f32}) {
    const Problem p = problem_of({Type::bf16, result, row, column}, 392, 176, 26432);
    const Plan made = plan(p, "h200");
    const PlannedWay& way = made.way();
    ASSERT_GT(way.parts, 1) << made.why();
    EXPECT_TRUE(way.finishes);
    EXPECT_NE(made.why().find(" parts of K and a second launch"), std::string::npos) << made.why();
    // Rows of sums begin at multiples of a line of the caches.
    EXPECT_EQ(way.workspace_bytes, static_cast<std::size_t>(way.parts) * 392 * 192 * sizeof(float));
    EXPECT_EQ(plan_of(made.id()).way().parts, way.parts);
    EXPECT_EQ(plan(p, "h200", {.workspace_bytes = 0}).way().parts, 1);
    // Of a workspace with less room there are fewer, down to two.
    const std::size_t of_each = 392 * 192 * sizeof(float);
    const GemmOptions less = {.workspace_bytes = way.workspace_bytes - 1, .kernel = way.kernel},
                      least = {.workspace_bytes = 2 * of_each, .kernel = way.kernel};
    const PlannedWay fewer = plan(p, "h200", less).way();
    EXPECT_LT(fewer.parts, way.parts);
    EXPECT_GT(fewer.parts, 2);
    EXPECT_EQ(fewer.workspace_bytes, fewer.parts * of_each);
    EXPECT_EQ(plan(p, "h200", least).way().parts, 2);
    EXPECT_NE(refusal_of([&] {
                plan(p, "h200", {.workspace_bytes = least.workspace_bytes - 1, .kernel = way.kernel});
              }).find(fmt::format("the least workspace that is enough is {}", least.workspace_bytes)),
              std::string::npos);
    EXPECT_EQ(plan(p, "h200", {.batch_invariant = true}).way().parts, 1);
    EXPECT_FALSE(made.batch_invariant());
    EXPECT_EQ(plan(p, "a100 sxm4 80gb").way().parts, 1) << "wgmma is Hopper's";
    // Of a short K, and of tiles enough, nothing is split whatever the kernel.
    for (const Problem& other : {problem_of(p.kind, 392, 176, 448), problem_of(p.kind, 16384, 16384, 26432)})
      EXPECT_NE(refusal_of([&] { plan(other, "h200", {.kernel = way.kernel}); }), "");
  }
}

// What an id says was done then, and is done again, whatever number of parts is taken to be the best by now.
TEST(Plan, HasTheNumberOfPartsInItsId) {
  const Plan made = plan(problem_of({Type::bf16, Type::bf16, row, column}, 392, 176, 26432), "h200");
  const std::string parts = fmt::format("-k{}", made.way().parts);
  ASSERT_TRUE(made.id().ends_with(".p" + parts)) << made.id();
  const std::string before = made.id().substr(0, made.id().size() - parts.size());
  for (const int others : {2, 3, made.way().parts + 1, 59, 413}) {
    const Plan again = plan_of(before + fmt::format("-k{}", others));
    EXPECT_EQ(again.way().parts, others);
    EXPECT_EQ(again.way().workspace_bytes, round_up<std::size_t>(others * 392 * 192 * sizeof(float), 256));
    EXPECT_EQ(again.id(), before + fmt::format("-k{}", others));
  }
  // 414 would be more than there are steps along K, and of 100 parts of 5 steps the last ones would be empty.
  for (const char* none : {"", "-k1", "-k0", "-k-2", "-k414", "-k100", "-k02", "-k4294967298", "-k2-k2"})
    EXPECT_NE(refusal_of([&] { plan_of(before + none); }), "") << none;
  EXPECT_NE(refusal_of([&] { plan_of(before); }).find(made.id()), std::string::npos);
  const std::string other = plan(problem_of({Type::bf16, Type::bf16, row, column}, 4096, 4096, 4096), "h200").id();
  EXPECT_NE(refusal_of([&] { plan_of(other + "-k2"); }).find(other), std::string::npos);
}

// Blocks for more than half of the multiprocessors, which begin where they find room, crowd into a part of the card.
// What an id says is done again, whatever is taken to be quicker by now.
TEST(Plan, WaitsForTheLaunchBeforeWhereItsBlocksWouldCrowd) {
  constexpr const char* wide = "wgmma_waves_64x128x64_s8_e2x64_f16-RC";
  const auto rows = [](std::int64_t M, std::int64_t N, std::int64_t K) {
    return plan(problem_of({Type::f16, Type::f16, row, column}, M, N, K), "h200", {.kernel = wide});
  };
  // 80 blocks for 132 multiprocessors; fewer than half, nearly all, and as many for so short that the gap is more.
  EXPECT_TRUE(rows(64, 10240, 8192).way().waits);
  for (const Plan& other : {rows(64, 7680, 8192), rows(64, 16384, 8192), rows(64, 10240, 256)})
    EXPECT_FALSE(other.way().waits) << other.id();
  const std::string id = rows(64, 10240, 8192).id();
  ASSERT_TRUE(id.ends_with(".p-w")) << id;
  EXPECT_NE(rows(64, 10240, 8192).why().find("once the launch before has ended"), std::string::npos);
  const Plan early = plan_of(id.substr(0, id.size() - 2));
  EXPECT_FALSE(early.way().waits);
  EXPECT_GT(early.way().seconds, plan_of(id).way().seconds);
  EXPECT_EQ(plan_of(rows(64, 7680, 8192).id() + "-w").id(), rows(64, 7680, 8192).id() + "-w");
  // A copy, and a second launch, let nothing begin before they end.
  const Plan copies = plan(problem_of({Type::f16, Type::f16, row, row}, 64, 10240, 8192), "h200",
                           {.kernel = wide, .packs = {{false, true}}});
  EXPECT_FALSE(copies.way().waits) << copies.id();
  EXPECT_NE(refusal_of([&] { plan_of(copies.id() + "-w"); }).find(copies.id()), std::string::npos);
  const Plan empty = plan(problem_of({Type::f16, Type::f16, row, column}, 0, 64, 64), "h200");
  EXPECT_EQ(plan_of(empty.id()).id(), empty.id());
  EXPECT_NE(refusal_of([&] { plan_of(empty.id() + "-w"); }).find(empty.id()), std::string::npos);
  for (const char* none : {"-w-w", "-wk2", "-W", "-w2"})
    EXPECT_NE(refusal_of([&] { plan_of(id.substr(0, id.size() - 2) + none); }), "") << none;
  // One that never begins early does not wait.
  const std::string other = plan(problem_of({Type::f16, Type::f16, row, column}, 4096, 4096, 4096), "h200",
                                 {.kernel = "wgmma_persistent_128x256x64_s4_f16-RC"})
                                .id();
  EXPECT_NE(refusal_of([&] { plan_of(other + "-w"); }).find(other), std::string::npos);
}

// Of weights for few rows all of the time is the memory's, however the constants of a kernel came out.
TEST(Plan, SaysWhatTheTimeGoesTo) {
  for (const std::int64_t M : {1, 4, 16}) {
    const Plan weights = plan(problem_of({Type::bf16, Type::bf16, row, row}, M, 8192, 8192), "h200");
    EXPECT_EQ(weights.way().limiter, "DRAM") << weights.id();
  }
  const Plan cube = plan(problem_of({Type::bf16, Type::bf16, row, column}, 8192, 8192, 8192), "h200");
  EXPECT_EQ(cube.way().limiter, "multiply-adds");
  EXPECT_EQ(cube.why().find("H200"), std::string::npos);
  EXPECT_NE(plan(cube.problem(), "h100 sxm5").why().find(", by what was measured of an H200"), std::string::npos);
}

// A card with fewer multiply-adds in a clock than an H200 is not taken to wait longer for all else as well.
TEST(Plan, TakesNoCopiesOnCardsThatMultiplySlowly) {
  for (const char* card : {"rtx 4090", "l40s", "a100 sxm4 80gb"})
    for (const Order b : {row, column}) {
      const Plan made = plan(problem_of({Type::bf16, Type::bf16, row, b}, 4096, 4096, 4096), card);
      EXPECT_FALSE(made.way().packs_a || made.way().packs_b) << made.id();
      const model::Gpu& gpu = library::find_card(card).gpu;
      const double peak = model::tensor_flop_per_clk(gpu, Type::bf16) * gpu.sms * gpu.clock_hz;
      EXPECT_GT(made.way().seconds, 2.0 * 4096 * 4096 * 4096 / peak) << card;
      EXPECT_LT(made.way().seconds, 1.3 * 2.0 * 4096 * 4096 * 4096 / peak) << card;
    }
}

TEST(Plan, KnowsWhetherRowsDependOnEachOther) {
  int free = 0;
  for (const std::int64_t M : {1, 64, 512, 4096}) {
    const Problem p = problem_of({Type::f16, Type::f16, row, column}, M, 4096, 4096);
    EXPECT_TRUE(plan(p, "h200", {.batch_invariant = true}).batch_invariant());
    free += plan(p, "h200").batch_invariant();
  }
  EXPECT_LT(free, 4);
}

// Where blocks share K, and where every other tile walks it backwards, sums are added up in an order that M decides.
TEST(Plan, AddsUpInAnOrderOfItsOwnWhereRowsMustNotMatter) {
  int others = 0;
  for (const GemmKind& types : {GemmKind(Type::bf16, Type::bf16, row, column),
                                GemmKind(Type::bf16, Type::f32, row, column), GemmKind(Type::f32)})
    for (const std::int64_t M : {1, 16, 64, 1024, 8192})
      for (const std::int64_t N : {64, 4096, 8192})
        for (const std::int64_t K : {512, 16384}) {
          const auto depends = [](const Plan& made) {
            return made.way().parts > 1 ||
                   library::library_kernel(find_kernel(made.way().kernel))->sum_order() == library::SumOrder::depends;
          };
          const Problem p = problem_of(types, M, N, K);
          EXPECT_FALSE(depends(plan(p, "h200", {.batch_invariant = true}))) << M << " " << N << " " << K;
          const Plan free = plan(p, "h200");
          others += depends(free);
          EXPECT_FALSE(depends(free) && free.batch_invariant()) << free.id();
        }
  EXPECT_GT(others, 20);
}

TEST(Plan, CopiesThatArePreparedCostNothing) {
  Problem p = problem_of({Type::tf32, Type::f32, row, row}, 512, 320, 200);
  const Plan copies = plan(p, "h200");
  ASSERT_TRUE(copies.way().packs_b);
  EXPECT_EQ(copies.prepared_bytes(Matrix::B), 0u);
  const Plan prepared = plan(p, "h200", {.prepared = {.b = true}});
  EXPECT_EQ(prepared.workspace_bytes(), 0u);
  EXPECT_EQ(prepared.prepared_bytes(Matrix::A), 0u);
  EXPECT_EQ(prepared.prepared_bytes(Matrix::B), 320u * 224 * 4) << "columns of whole lines of 128 bytes";
  EXPECT_LT(prepared.way().seconds, copies.way().seconds);
  EXPECT_EQ(prepared.way().prepared, (PackedOperands{false, true}));
  EXPECT_TRUE(prepared.id().ends_with(".pB")) << prepared.id();
  EXPECT_EQ(plan_of(prepared.id()).prepared_bytes(Matrix::B), prepared.prepared_bytes(Matrix::B));
  // Column-major results are those of the transposed product, where A and B change places.
  p.order_d = column;
  p.kind = {Type::tf32, Type::f32, column, row};
  const Plan turned = plan(p, "h200", {.prepared = {.a = true, .b = true}});
  EXPECT_EQ(turned.way().packs_a, turned.prepared_bytes(Matrix::A) > 0);
  EXPECT_EQ(turned.way().packs_b, turned.prepared_bytes(Matrix::B) > 0);
  EXPECT_GT(turned.prepared_bytes(Matrix::A) + turned.prepared_bytes(Matrix::B), 0u);
  EXPECT_EQ(plan_of(turned.id()).id(), turned.id());
  p.batch = {2, 512 * 200, 200 * 320, 0, 512 * 320};
  EXPECT_EQ(plan(p, "h200", {.prepared = {.a = true, .b = true}}).way().prepared, PackedOperands{})
      << "as many copies as products";
}

bool does_batches(const std::string& kernel) {
  return kernel.starts_with("wgmma_batched_") || kernel.starts_with("wgmma_turned_");
}

TEST(Plan, DoesABatchInOneLaunchWhereThatIsQuicker) {
  const auto batch_of = [](std::int64_t count) {
    Problem p = resolved(problem_of({Type::f16, Type::f16, row, column}, 256, 256, 256));
    p.beta = Factor::any;
    p.batch = one_after_another(p, count);
    return p;
  };
  const auto is_one_launch = [](const Plan& plan) { return does_batches(plan.way().kernel); };
  const Plan several = plan(batch_of(64), "h200");
  EXPECT_TRUE(is_one_launch(several)) << several.why();
  EXPECT_LT(several.way().seconds, 8 * plan(batch_of(1), "h200").way().seconds);
  const Plan again = plan_of(several.id());
  EXPECT_EQ(again.id(), several.id());
  EXPECT_EQ(again.way().seconds, several.way().seconds);
  EXPECT_FALSE(is_one_launch(plan(batch_of(1), "h200")));
  EXPECT_FALSE(is_one_launch(plan(batch_of(64), "a100 sxm4 80gb")));
  Problem p = batch_of(64);
  p.order_d = column;
  EXPECT_TRUE(is_one_launch(plan(p, "h200"))) << "the transposed products, of other orders";
  p = batch_of(64);
  p.batch.stride_a = p.batch.stride_b = 0;
  EXPECT_TRUE(is_one_launch(plan(p, "h200"))) << "matrices that all share";
  for (std::int64_t Batch::*const stride : {&Batch::stride_a, &Batch::stride_b, &Batch::stride_d}) {
    p = batch_of(64);
    p.batch.*stride += 4;
    EXPECT_FALSE(is_one_launch(plan(p, "h200"))) << "every other one off 16 bytes";
  }
  p = batch_of(64);
  p.batch.stride_c += 1;
  EXPECT_TRUE(is_one_launch(plan(p, "h200"))) << "C may begin anywhere";
  p.epilogue.activation = Activation::relu;
  EXPECT_FALSE(is_one_launch(plan(p, "h200"))) << "something follows";
  p = batch_of(64);
  p.aligned.A = 2;
  EXPECT_FALSE(is_one_launch(plan(p, "h200")));
  EXPECT_NE(refusal_of([&] { plan(batch_of(1), "h200", {.kernel = several.way().kernel}); }).find("for batches"),
            std::string::npos);
}

TEST(Plan, OfGroupsIsOneLaunch) {
  const auto groups_of = [](int groups, std::int64_t M) {
    Problem p = resolved(problem_of({Type::bf16, Type::bf16, row, column}, M, 2048, 512));
    p.alpha = p.beta = Factor::any;
    p.groups = groups;
    p.batch.stride_b = p.K * p.N;
    return p;
  };
  const Plan of_many = plan(groups_of(64, 4096), "h200"), of_few = plan(groups_of(2, 4096), "h200");
  for (const Plan& made : {of_many, of_few}) {
    EXPECT_TRUE(made.way().kernel.starts_with("wgmma_grouped_")) << made.why();
    EXPECT_EQ(made.workspace_bytes(), 0u);
    const Plan again = plan_of(made.id());
    EXPECT_EQ(again.id(), made.id());
    EXPECT_EQ(again.problem(), made.problem());
    EXPECT_EQ(again.way().seconds, made.way().seconds);
  }
  EXPECT_NE(of_many.id().find(".g64."), std::string::npos) << of_many.id();
  // Of 2048 rows each, and of 64 where their B take no time.
  Problem p = groups_of(64, 4096);
  p.batch.stride_b = 0;
  EXPECT_TRUE(plan(p, "h200").way().kernel.starts_with("wgmma_grouped_64x")) << plan(p, "h200").why();
  EXPECT_TRUE(of_few.way().kernel.starts_with("wgmma_grouped_128x")) << of_few.why();
  EXPECT_GT(of_many.way().seconds, of_few.way().seconds) << "64 B come from DRAM in place of 2";
  // Neither one product nor a batch is done as groups; one group is.
  EXPECT_TRUE(plan(groups_of(1, 4096), "h200").way().kernel.starts_with("wgmma_grouped_"));
  EXPECT_FALSE(plan(groups_of(0, 4096), "h200").way().kernel.starts_with("wgmma_grouped_"));
  EXPECT_TRUE(of_many.batch_invariant());
  EXPECT_EQ(refusal_of([&] { plan(groups_of(2, 4096), "a100 sxm4 80gb"); }),
            "no kernel of the library computes groups of bf16 products on A100 SXM4 80GB, which has compute capability "
            "8.0; the least that one needs is 9.0");
  p = groups_of(2, 4096);
  p.N = 2044;
  EXPECT_NE(refusal_of([&] { plan(p, "h200"); })
                .find("N is 2044; results that are stored in bulk are in multiples of "
                      "16 bytes, 8 elements"),
            std::string::npos);
  p = groups_of(3, 4096);
  p.batch.stride_b += 4;
  EXPECT_NE(refusal_of([&] { plan(p, "h200"); })
                .find("B begins every 1048580 elements; matrices that are copied in "
                      "bulk begin at multiples of 16 bytes, 8 elements"),
            std::string::npos);
  EXPECT_NE(
      refusal_of([&] { plan(groups_of(1025, 4096), "h200"); }).find("there are 1025 groups; this kernel has room"),
      std::string::npos);
}

TEST(Plan, OfAnyRowsCopiesWhatItIsAskedToThatItWouldCopyAnyway) {
  for (const GemmKind& kind :
       {GemmKind(Type::tf32, Type::f32, row, column), GemmKind(Type::f16, Type::f16, row, column)}) {
    Problem p = problem_of(kind, 500, 512, 512);
    p.aligned.A = size_of(kind.type);
    const Plan own = plan(p, "h200", {.batch_invariant = true});
    ASSERT_TRUE(own.way().packs_a);
    const PackedOperands same = {own.way().packs_a, own.way().packs_b};
    EXPECT_EQ(plan(p, "h200", {.batch_invariant = true, .packs = same}).id(), own.id());
  }
}

TEST(Plan, WeighsNoCopyOfWhatTheSameKernelReadsAsItIs) {
  const auto plain = [](const std::string& id) { return id.substr(0, id.find("_f16")); };
  const auto weighed = [&](std::int64_t K) {
    std::set<std::string> as_they_are, copied;
    for (const PlannedWay& way : plan(problem_of({Type::f16, Type::f16, row, column}, 512, 768, K), "h200").ways())
      if (way.kernel.starts_with("wgmma"))
        (way.packs_a || way.packs_b ? copied : as_they_are).insert(plain(way.kernel));
    std::vector<std::string> both;
    std::set_intersection(as_they_are.begin(), as_they_are.end(), copied.begin(), copied.end(),
                          std::back_inserter(both));
    EXPECT_GT(as_they_are.size(), 50U);
    return both.size();
  };
  EXPECT_EQ(weighed(1024), 0U);
  EXPECT_GT(weighed(8), 10U) << "of lines of 16 bytes a copy makes longer ones";
}

TEST(Plan, SaysWhatWouldBeNextBestInAnyForm) {
  const Problem p = problem_of({Type::f32, Type::f32, column, column}, 256, 1, 192);
  const Plan made = plan(p, "h200");
  ASSERT_NE(made.problem(), resolved(p)) << "it is planned as a row";
  std::string next;
  double least = std::numeric_limits<double>::infinity();
  for (const library::LibraryKernel& kernel : library::library_kernels()) {
    if (kernel.id == made.way().kernel || kernel.kernel->kind.type != Type::f32) continue;
    const PlannedWay way = plan(p, "h200", {.kernel = kernel.id}).way();
    if (way.seconds >= least) continue;
    least = way.seconds;
    next = kernel.id;
  }
  EXPECT_NE(made.why().find("the next best, " + next), std::string::npos) << next << "\n" << made.why();
}

TEST(Plan, OfABatchIsThatOfOneProductWhereThatIsNoWorse) {
  const auto batch_of = [](const GemmKind& kind, std::int64_t side) {
    Problem p = resolved(problem_of(kind, side, side, side));
    p.batch = {8, side * side, 0, side * side, side * side};
    return p;
  };
  const Problem p = batch_of({Type::f16, Type::f16, row, column}, 512);
  EXPECT_EQ(plan(p, "h200").problem().batch.count, 1);
  EXPECT_EQ(plan(p, "h200").problem().M, 8 * 512);
  // A matrix times vectors, whose results are written as columns of row-major matrices.
  Problem vectors = problem_of({Type::f16, Type::f16, row, column}, 256, 1, 256);
  vectors.batch = {64, 0, 256, 256, 256};
  EXPECT_EQ(plan(vectors, "h200").problem().batch.count, 1);
  EXPECT_EQ(plan(plan(vectors, "h200").problem(), "h200").id(), plan(vectors, "h200").id());
  // Nobody reads A and B.
  Problem none = p;
  none.batch.stride_b = 512 * 512;
  EXPECT_EQ(plan(none, "h200").problem().batch.count, 8);
  none.alpha = Factor::zero;
  EXPECT_EQ(plan(none, "h200").problem().batch.count, 1);
  // By a kernel that does batches.
  EXPECT_EQ(plan(p, "h200", {.kernel = "wgmma_batched_64x64x64_s13_e1x64_f16-RC"}).problem(), p);
  // The sums of all are 32 MiB, those of one product 4.
  Problem finished = batch_of({Type::f16, Type::bf16, row, column}, 1024);
  finished.epilogue = {.bias = Bias::of_columns, .residual = true};
  finished.batch.stride_residual = 1024 * 1024;
  finished = resolved(finished);
  EXPECT_LE(plan(finished, "h200", {.workspace_bytes = std::size_t{8} << 20}).workspace_bytes(), std::size_t{8} << 20);
}

TEST(Plan, BoundsErrors) {
  const auto bound = [](const GemmKind& kind, std::int64_t K) {
    return plan(problem_of(kind, 64, 64, K), "h200").error_bound();
  };
  const ErrorBound f32 = bound(Type::f32, 1000), f16 = bound({Type::f16, Type::f16, row, column}, 1000);
  EXPECT_NEAR(f32.products, 1002 * 0x1p-24, 1e-9);
  EXPECT_EQ(f32.rounding, 0);
  EXPECT_EQ(f16.rounding, 0x1p-11);
  EXPECT_GT(f16.products, f32.products);
  EXPECT_GT(bound({Type::e4m3, Type::f32, row, column}, 1000).products, 1000 * f16.products);
  EXPECT_EQ(bound({Type::s8, Type::f32, row, column}, 1000).products,
            bound({Type::s8, Type::f32, row, column}, 16).products);
  const ErrorBound s32 = bound({Type::s8, Type::s32, row, column}, 1000);
  EXPECT_EQ(s32.products + s32.addend + s32.rounding + s32.least, 0);
}

TEST(Plan, TakesNoMoreWorkspaceThanItMay) {
  const Problem p = problem_of({Type::tf32, Type::f32, row, row}, 512, 512, 512);
  const Plan free = plan(p, "h200");
  EXPECT_GT(free.workspace_bytes(), 0u) << "tf32 is read along K alone";
  EXPECT_NE(refusal_of([&] { plan(p, "h200", {.workspace_bytes = 1000}); }).find("workspace_bytes = 1000"),
            std::string::npos);
  const Problem f16 = problem_of({Type::f16, Type::f16, row, row}, 4096, 4096, 4095);
  EXPECT_GT(plan(f16, "h200").workspace_bytes(), 0u);
  EXPECT_EQ(plan(f16, "h200", {.workspace_bytes = 0}).workspace_bytes(), 0u);
  // Copies that the card holds, but not beside A, B and D, and others that it does not hold at all.
  for (const Problem& large : {problem_of({Type::f16, Type::f16, row, row}, 150001, 150001, 150001),
                               problem_of({Type::bf16, Type::bf16, row, column}, 1, 1, (std::int64_t{1} << 31) + 5)}) {
    double bytes = 0;
    for (const Matrix matrix : {Matrix::A, Matrix::B, Matrix::D})
      bytes += static_cast<double>(shape_of(resolved(large), matrix).bytes());
    const Plan made = plan(large, "h200");
    EXPECT_LT(bytes + static_cast<double>(made.workspace_bytes()), 141e9) << made.id();
    EXPECT_GT(
        std::count_if(made.ways().begin(), made.ways().end(),
                      [&](const PlannedWay& way) { return bytes + static_cast<double>(way.workspace_bytes) > 141e9; }),
        0)
        << "there is a way for which it has no memory";
  }
}

TEST(Plan, RefusesBatchesThatOverlap) {
  Problem p = problem_of(Type::f32, 8, 8, 8);
  p.batch = {4, 0, 0, 64, 63};
  EXPECT_EQ(refusal_of([&] { plan(p, "h200"); }),
            "D begins 63 elements after the one before; results must not overlap: at least 64");
  p.batch.stride_d = 64;
  EXPECT_EQ(refusal_of([&] { plan(p, "h200"); }), "");
  p.ldd = 100;
  p.batch.stride_d = 7;
  EXPECT_EQ(refusal_of([&] { plan(p, "h200"); }),
            "D begins 7 elements after the one before; results must not overlap: 8 to 30, side by side within a line, "
            "or at least 708");
  // Side by side in the rows of one larger matrix.
  p.ldd = 32;
  p.batch.stride_d = 8;
  EXPECT_EQ(refusal_of([&] { plan(p, "h200"); }), "");
  p.batch.count = 5;
  EXPECT_NE(refusal_of([&] { plan(p, "h200"); }), "");
  p.batch = {-1, 0, 0, 0, 0};
  EXPECT_EQ(refusal_of([&] { plan(p, "h200"); }), "there are -1 products in the batch; there are 0 or more");
  p.batch = {2, -1, 0, 0, 8 * 32};
  EXPECT_EQ(refusal_of([&] { plan(p, "h200"); }),
            "A begins -1 elements after the one before; strides of batches are 0 or more");
}

library::SumOrder order_of(const Plan& made) {
  return library::library_kernel(find_kernel(made.way().kernel))->sum_order();
}

// What the order is, and that it decides bits, the library's tests say.
TEST(Plan, ForAnyNumberOfRowsAddsUpInOneOrder) {
  for (const char* const card : {"h200", "a100 sxm4 80gb"})
    for (const Order order_d : {row, column})
      for (const GemmKind& kind :
           {GemmKind(Type::f16, Type::f16, row, column), GemmKind(Type::f32, Type::f32), GemmKind(Type::tf32),
            GemmKind(Type::s8), GemmKind(Type::e4m3, Type::f32, row, column)}) {
        if (kind.type == Type::e4m3 && std::string_view(card) != "h200") continue;
        std::set<library::SumOrder> orders;
        std::set<std::string> kernels;
        for (const std::int64_t M : {1, 2, 63, 64, 65, 128, 1000, 1024, 8192}) {
          Problem p = problem_of(kind, M, 4096, 4096);
          p.order_d = order_d;
          p.aligned.A = M % 2 == 0 ? 16 : size_of(kind.type);
          const Plan made = plan(p, card, {.batch_invariant = true, .fast_accumulation = M % 3 == 0});
          orders.insert(order_of(made));
          kernels.insert(made.way().kernel);
          EXPECT_EQ(made.way().parts, 1);
          // Of e4m3 the order of results counts, which the id of a single row has not.
          EXPECT_TRUE(plan_of(made.id()).batch_invariant() || kind.type == Type::e4m3) << made.id();
        }
        EXPECT_EQ(orders.size(), 1u) << to_string(kind);
        if (kind.type == Type::f16 && std::string_view(card) == "h200") {
          EXPECT_GT(kernels.size(), 2u) << "few rows are no work for the kernel of many";
        }
      }
}

// A kernel that is asked for may add up in another order, as long as that depends on no number of rows.
TEST(Plan, ForAnyNumberOfRowsIsOfTheKernelThatIsAskedFor) {
  const Problem p = problem_of({Type::e4m3, Type::f32, row, column}, 512, 512, 512);
  const GemmOptions options = {.batch_invariant = true, .kernel = "mma_multistage_128x256x64_s4_e4m3-f32-RC"};
  const Plan made = plan(p, "h200", options);
  EXPECT_EQ(made.way().kernel, options.kernel);
  EXPECT_TRUE(made.batch_invariant());
  EXPECT_FALSE(plan_of(made.id()).batch_invariant()) << "of others than that there is no telling";
}

// The gap behind the rows of A is the same for any number of them: groups of a K that is no whole vector have a kernel.
TEST(Plan, ForAnyNumberOfRowsIsOfRowsWithTheirGaps) {
  Problem p = problem_of({Type::f16, Type::f16, row, column}, 64, 128, 100);
  p.lda = p.ldb = 104;
  p.groups = 3;
  EXPECT_TRUE(plan_of(plan(p, "h200", {.batch_invariant = true}).id()).batch_invariant());
}

// What may be done in a second launch because something follows a product may be done without that, too: nothing takes
// half as long for what is to follow.
TEST(Plan, IsNotMuchQuickerForDoingMore) {
  std::mt19937 random(5);
  const auto size = [&](unsigned least, unsigned most) {
    return static_cast<std::int64_t>(least + random() % (most - least));
  };
  for (int i = 0; i < 300; ++i) {
    Problem p = problem_of({Type::f16, Type::f16, random() % 2 ? row : column, random() % 2 ? row : column},
                           8 * size(1, 600), 8 * size(1, 600), 8 * size(1, 1000));
    p.ldd = p.N + 4;
    Problem more = p;
    more.epilogue.bias = Bias::of_columns;
    EXPECT_LT(plan(p, "h200").way().seconds, 1.02 * plan(more, "h200").way().seconds) << plan(p, "h200").id();
  }
}

// Lines of 4104 f16 begin at multiples of 16 bytes and no more, those of a copy at multiples of 128. It is weighed of
// the operand that is much the smaller one, and where products take long enough.
TEST(Plan, WeighsStraightLinesOfAShortOperand) {
  const auto copies = [](std::int64_t M, std::int64_t N, std::int64_t K) {
    PackedOperands found;
    for (const PlannedWay& way : plan(problem_of({Type::f16, Type::f16, row, column}, M, N, K), "h200").ways()) {
      found.a |= way.packs_a;
      found.b |= way.packs_b && way.kernel.ends_with("RC");
    }
    return found;
  };
  EXPECT_TRUE(copies(8200, 264, 4104).b);
  EXPECT_TRUE(copies(264, 8200, 4104).a);
  EXPECT_FALSE(copies(8200, 264, 4096).b);
  EXPECT_FALSE(copies(8200, 8200, 4104).b);
  EXPECT_FALSE(copies(1032, 72, 4104).b);
}

// A row of f32 times a column-major B, of which there are few kernels, is a column as well, with B as A: no copy of B.
TEST(Plan, TakesARowOfResultsForAColumn) {
  EXPECT_LT(plan(problem_of({Type::f32, Type::f32, row, column}, 1, 4096, 4096), "rtx 4090").workspace_bytes(),
            std::size_t{1} << 20);
}

// For a card the time of more columns is not much less than that of few. Least so it is for 4096 x 32 x 16384
// of f16 with results of f32, which is told to take 1.416 times as long as with 64 columns.
TEST(Plan, OfMoreColumnsIsNotMuchQuicker) {
  for (const auto& [M, K] : {std::pair<std::int64_t, std::int64_t>(131072, 16384), {4096, 16384}, {14336, 4096}})
    for (const GemmKind& kind : {GemmKind(Type::f16, Type::f32, row, column),
                                 GemmKind(Type::f16, Type::f16, row, column), GemmKind(Type::f32)})
      for (std::int64_t N = 8; N < 64; N *= 2) {
        const auto seconds = [&](std::int64_t columns) {
          return plan(problem_of(kind, M, columns, K), "h200").way().seconds;
        };
        EXPECT_LT(seconds(N), 1.42 * seconds(2 * N)) << to_string(kind) << ' ' << M << 'x' << N << 'x' << K;
      }
}

/// The workspace that a refusal names as enough.
std::size_t least_told(const std::string& refusal) {
  const std::string_view words = "the least workspace that is enough is ";
  const std::size_t at = refusal.find(words);
  EXPECT_NE(at, std::string::npos) << refusal;
  return at == std::string::npos ? 1 : std::stoull(refusal.substr(at + words.size()));
}

// What copies of A and sums take depends on M, and so does what there is room for.
TEST(Plan, ForAnyNumberOfRowsAddsUpInOneOrderWhateverWorkspaceThereIs) {
  int refused = 0, made = 0;
  for (const GemmKind& kind :
       {GemmKind(Type::f32, Type::f16, column, row), GemmKind(Type::f32, Type::f32, column, column),
        GemmKind(Type::f16, Type::f16, row, column), GemmKind(Type::bf16, Type::f32), GemmKind(Type::tf32),
        GemmKind(Type::e4m3, Type::bf16, column, row)})
    for (const Order order_d : {row, column})
      for (const auto& [N, K] : {std::pair<std::int64_t, std::int64_t>(128, 129), {153, 300}, {512, 256}})
        for (const PackedOperands& prepared :
             {PackedOperands{}, PackedOperands{.b = true}, PackedOperands{true, true}}) {
          std::set<library::SumOrder> orders;
          for (const std::int64_t M : {1, 130, 295, 3000}) {
            Problem p = problem_of(kind, M, N, K);
            p.order_d = order_d;
            if (M == 295) p.aligned.A = size_of(kind.type);
            const auto with = [&](std::size_t bytes) {
              return plan(p, "h200", {.workspace_bytes = bytes, .batch_invariant = true, .prepared = prepared});
            };
            bool enough = false;
            for (const std::size_t bytes : {0u, 1000u, 149760u, 400000u, 3000000u, 100000000u}) {
              const std::string refusal = refusal_of([&] {
                const Plan one = with(bytes);
                EXPECT_LE(one.workspace_bytes(), bytes);
                EXPECT_TRUE(one.batch_invariant()) << one.id();
                orders.insert(order_of(one));
                enough = true;
                ++made;
              });
              if (refusal.empty()) continue;
              ++refused;
              EXPECT_FALSE(enough) << "fewer than " << bytes << " bytes were enough: " << refusal;
              const std::size_t least = least_told(refusal);
              EXPECT_EQ(with(least).workspace_bytes(), least) << refusal;
              EXPECT_NE(refusal_of([&] { with(least - 1); }), "") << refusal;
            }
          }
          EXPECT_EQ(orders.size(), 1u) << to_string(kind) << " " << N << " " << K;
        }
  EXPECT_GT(refused, 500);
  EXPECT_GT(made, 500);
  const Plan prepared = plan(problem_of({Type::f16, Type::f16}, 295, 153, 300), "h200",
                             {.batch_invariant = true, .prepared = {.b = true}});
  ASSERT_TRUE(prepared.way().prepared.b);
  EXPECT_TRUE(plan_of(prepared.id()).batch_invariant());
}

TEST(Plan, TellsTheLeastWorkspaceOfAllFormsOfAProduct) {
  int told = 0;
  for (const GemmKind& kind : {GemmKind(Type::f16, Type::f16, row, row), GemmKind(Type::bf16, Type::bf16, column, row),
                               GemmKind(Type::f32, Type::f32, row, column)})
    for (const auto& [M, N] : {std::pair<std::int64_t, std::int64_t>(44, 1), {1, 44}, {300, 1}, {44, 45}})
      for (const std::int64_t count : {1, 3}) {
        Problem p = problem_of(kind, M, N, 1135);
        p.epilogue.activation = Activation::gelu_erf;
        p.batch.count = count;
        p.batch.stride_a = M * 1135;
        p.batch.stride_b = 1135 * N;
        p.batch.stride_c = p.batch.stride_d = M * N;
        const auto with = [&](std::size_t bytes) { return plan(p, "h200", {.workspace_bytes = bytes}); };
        const std::string refusal = refusal_of([&] { with(0); });
        if (refusal.empty()) continue;
        ++told;
        const std::size_t least = least_told(refusal);
        EXPECT_LE(with(least).workspace_bytes(), least) << refusal;
        EXPECT_NE(refusal_of([&] { with(least - 1); }), "") << refusal;
      }
  EXPECT_GT(told, 3);
}

TEST(Plan, ForAnyNumberOfRowsIsOfAKernelThatIsGoodForThese) {
  for (const std::int64_t M : {1, 64, 512, 4096}) {
    const Problem p = problem_of({Type::f16, Type::f16, row, column}, M, 4096, 4096);
    const double free = plan(p, "h200").way().seconds;
    EXPECT_LT(plan(p, "h200", {.batch_invariant = true}).way().seconds, (M < 128 ? 1.5 : 1.1) * free) << M;
  }
}

TEST(Plan, ForAnyNumberOfRowsAddsUpInOneOrderForViewsOfOneRowToo) {
  const auto view = [](Type type, Order order, std::int64_t rows, std::int64_t cols, std::int64_t gap) {
    float* const data = reinterpret_cast<float*>(std::uintptr_t{1} << 20);
    const std::int64_t ld = (order == row ? cols : rows) + gap;
    return MatrixView{data, type, rows, cols, order == row ? ld : 1, order == row ? 1 : ld};
  };
  for (const GemmKind& kind :
       {GemmKind(Type::f32), GemmKind(Type::tf32), GemmKind(Type::f16), GemmKind(Type::bf16, Type::f32),
        GemmKind(Type::e4m3), GemmKind(Type::s8), GemmKind(Type::s8, Type::s32)})
    for (const Order order_a : {row, column})
      for (const Order order_d : {row, column})
        for (const auto& [N, K] :
             {std::pair<std::int64_t, std::int64_t>(1, 64), {16, 80}, {16, 1}, {1, 1}, {2048, 512}})
          for (const std::int64_t gap : {0, 7, 8})
            for (const bool reads_c : {false, true}) {
              if (reads_c && kind.result == Type::s32) continue;
              std::set<library::SumOrder> orders;
              for (const std::int64_t M : {1, 2, 63, 1000}) {
                const MatrixView A = view(kind.type, order_a, M, K, gap), B = view(kind.type, column, K, N, 0),
                                 D = view(kind.result, order_d, M, N, gap);
                const Product product = product_of(1, A, B, reads_c ? 1 : 0, reads_c ? D : MatrixView(), D);
                const Plan made = plan(product.problem, "h200", {.batch_invariant = true});
                orders.insert(order_of(made));
                EXPECT_TRUE(made.batch_invariant()) << made.id();
                EXPECT_EQ(plan_of(made.id()).problem(), made.problem());
                const Plan free = plan(product.problem, "h200");
                EXPECT_EQ(plan_of(free.id()).problem(), free.problem());
              }
              EXPECT_EQ(orders.size(), 1u) << to_string(kind);
            }
}

TEST(Library, EveryRowOfItsTablesIsOfAKernel) {
  std::size_t rows = 0;
  for (const library::LibraryKernel& kernel : library::library_kernels()) {
    rows += kernel.id == kernel.cost->id;
    EXPECT_TRUE(kernel.kernel->finishes || kernel.id == kernel.cost->id);
    // Of groups nothing is weighed against a kernel that was timed.
    EXPECT_TRUE(kernel.measured || kernel.kernel->fast_accumulation || kernel.kernel->groups)
        << kernel.id << ": script/fit-costs has timings of too few problems of it";
  }
  EXPECT_EQ(rows, library::kernel_costs().size());
}

/// What was timed launch by launch, as script/fit-costs takes it: without the time between launches that graphs do not
/// take.
double as_in_a_graph(double seconds, const std::string& kernel) {
  static const std::regex overlapping(
      "wgmma_(overlapped|shared|waves|pingpong|batched|turned|fused|split_k|unaligned|skinny|deferred|equal_areas)_.*");
  if (seconds >= 1e-4) return seconds;
  return seconds - std::min(std::regex_match(kernel, overlapping) ? 0.65e-6 : 1.5e-6, seconds / 5);
}

/// Whether a kernel was changed after it was timed.
class Outdated {
 public:
  bool operator()(const std::string& kernel, const std::string& date) const {
    return std::any_of(changed_.begin(), changed_.end(), [&](const auto& changed) {
      return date < changed.second && std::regex_match(kernel, changed.first);
    });
  }

 private:
  std::vector<std::pair<std::regex, std::string>> changed_ = [] {
    std::vector<std::pair<std::regex, std::string>> found;
    std::ifstream file(fmt::format("{}/results/h200/changed_kernels.json", LAPIDARY_SOURCE_DIR));
    for (const auto& one : nlohmann::json::parse(file))
      found.emplace_back(std::regex(one["kernels"].get<std::string>()), one["since"].get<std::string>());
    return found;
  }();
};

// script/fit-costs has a formula of times, and the library has it too.
TEST(Times, AreAsFarOffTheTimingsAsWhenTheyWereFitted) {
  std::map<std::string, const library::MeasuredCost*, std::less<>> costs;
  for (const library::LibraryKernel& kernel : library::library_kernels()) costs[kernel.id] = kernel.measured;
  // The last one of each way to compute a product.
  struct Error {
    const library::MeasuredCost* cost;
    double logarithm;
    bool hung_over;
  };
  std::map<std::string, Error> newest;
  const Outdated outdated;
  const std::filesystem::path timings = fmt::format("{}/results/h200/regret", LAPIDARY_SOURCE_DIR);
  std::multimap<std::string, nlohmann::json> documents;
  for (const auto& file : std::filesystem::directory_iterator(timings)) {
    nlohmann::json document = nlohmann::json::parse(std::ifstream(file.path()));
    std::string date = document["receipt"]["date"];
    documents.emplace(std::move(date), std::move(document));
  }
  for (const auto& [date, document] : documents) {
    const bool in_graphs = document["method"].get<std::string>().find("graphs") != std::string::npos;
    for (const auto& problem : document["problems"]) {
      const library::PlanId timed = library::parse_plan_id(problem["plan"].get<std::string>());
      const Plan made = plan(timed.problem, timed.card);
      // A single row or column is planned in another order today.
      if (made.problem().kind != timed.problem.kind || made.problem().order_d != timed.problem.order_d) continue;
      for (const auto& way : problem["ways"]) {
        if (way["packs_a"] || way["packs_b"]) continue;
        const std::string kernel = way["kernel"];
        if (!costs.contains(kernel) || outdated(kernel, date)) continue;
        // Fitted to batches are kernels that do one in a launch.
        if (timed.problem.batch.count > 1 && !does_batches(kernel)) continue;
        // Of ways that were timed both waiting and not, the latter are fitted.
        const bool waits = way.value("waits", false);
        const auto began_early = [&](const auto& other) {
          return !other.value("waits", false) && other["kernel"] == kernel &&
                 other.value("parts", 1) == way.value("parts", 1);
        };
        if (waits && std::any_of(problem["ways"].begin(), problem["ways"].end(), began_early)) continue;
        // In so many parts it may not be weighed today.
        const int parts = way.value("parts", 1);
        const library::PlanId id = {timed.card, made.problem(), kernel, {}, {}, parts, waits, ""};
        const double predicted = plan_of(to_string(id)).way().seconds;
        const double measured = way["measured_s"];
        const double seconds = in_graphs ? measured : as_in_a_graph(measured, kernel);
        const Problem& p = timed.problem;
        const std::string product = fmt::format("{} {}x{}x{}x{} {} {}", library::kind_text(p), p.M, p.N, p.K,
                                                p.batch.count, kernel, parts);
        // Clusters pass tiles that D has nothing of in many steps; they did in none before then, and for a while in
        // all.
        const KernelTraits& of = find_kernel(kernel).traits();
        const bool hangs_over = (ceil_div<std::int64_t>(p.M, of.tile.m) % of.cluster.down != 0 ||
                                 ceil_div<std::int64_t>(p.N, of.tile.n) % of.cluster.across != 0) &&
                                !find_kernel(kernel).order.tiles;
        const bool many_steps = way.value("steps", std::ceil(static_cast<double>(p.K) / of.tile.k)) > few_steps;
        if (hangs_over && !many_steps && date >= "2026-11-29T00" && date < "2026-11-29T04") continue;
        newest[product] = {costs[kernel], std::log(predicted / seconds),
                           hangs_over && many_steps && date < "2026-11-29T00"};
        // Of lines that begin anywhere kernels were others then.
        const auto in_lines = [&](std::int64_t ld) { return ld * size_of(p.kind.type) % 128 == 0; };
        if (date < "2026-11-28T05:45Z" && !(in_lines(p.lda) && in_lines(p.ldb))) newest.erase(product);
      }
    }
  }
  std::map<const library::MeasuredCost*, std::vector<double>> errors;
  for (const auto& [product, error] : newest)
    if (!error.hung_over) errors[error.cost].push_back(error.logarithm);
  // Errors of the others are of timings, too, of what clusters did before.
  std::erase_if(errors, [](const auto& of) { return of.second.size() < 20; });
  EXPECT_GT(errors.size(), 150u);
  for (const auto& [cost, found] : errors) {
    if (!cost) continue;  // of a kernel that nobody chooses any more
    const double squares = std::inner_product(found.begin(), found.end(), found.begin(), 0.0);
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(found.size())), cost->error, 0.003) << cost->kernel;
  }
}

/// The choices for a list, a line each.
std::string choices(const std::string& list, const GemmKind& types, std::string_view card, std::size_t every,
                    const Epilogue& epilogue = {}) {
  const auto problems = bench::read_problems(fmt::format("{}/data/shapes/{}.txt", LAPIDARY_SOURCE_DIR, list));
  std::string text;
  for (std::size_t i = 0; i < problems.size(); i += every) {
    const bench::TimedProblem& shape = problems[i];
    Problem p = problem_of(types, shape.M, shape.N, shape.K);
    if (shape.orders) {
      p.kind.a = shape.orders->a;
      p.kind.b = shape.orders->b;
    }
    p.epilogue = epilogue;
    const Plan made = plan(p, card);
    const PlannedWay& way = made.way();
    text += fmt::format("{} {} {}x{}x{} {}{}{}{}{}\n", card, to_string(p.kind), p.M, p.N, p.K, way.kernel,
                        way.parts > 1 ? fmt::format(" in {} parts", way.parts) : "", way.packs_a ? " copies A" : "",
                        way.packs_b ? " copies B" : "", way.waits ? " waits" : "");
  }
  return text;
}

constexpr const char* lists[] = {"llm", "deepbench", "random", "grid"};

TEST(Choices, AreThoseOnRecord) {
  const GemmKind types_16[] = {{Type::f16, Type::f16, row, column}, {Type::bf16, Type::bf16, row, column}};
  const GemmKind others[] = {Type::f32, {Type::tf32, Type::f32, row, column}, {Type::s8, Type::f32, row, column}};
  std::string text;
  for (const char* const list : lists) text += choices(list, types_16[0], "H200", 3);
  for (const library::BuiltInCard& card : library::built_in_cards()) {
    if (card.gpu.compute_capability < 80) continue;
    for (const GemmKind& types : {types_16[1], others[0], others[1], others[2]})
      text += choices("random", types, card.gpu.name, 20);
    // Of whole lists, which are long, the hash tells that something is chosen anew.
    const auto add_hash = [&](const char* list, const GemmKind& types, const Epilogue& epilogue = {}) {
      std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
      for (const char letter : choices(list, types, card.gpu.name, 1, epilogue))
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
      text += fmt::format("{} {} {} {}: {:016x}\n", card.gpu.name, to_string(types), to_string(epilogue), list, hash);
    };
    for (const char* const list : lists) {
      for (const GemmKind& types : {types_16[0], others[0]}) add_hash(list, types);
      for (const Type type : {Type::f16, Type::bf16, Type::tf32, Type::s8, Type::e4m3}) {
        if (type == Type::e4m3 && card.gpu.compute_capability < 89) continue;
        add_hash(list, {type, type == Type::s8 ? Type::s32 : Type::f32, row, column});
      }
      add_hash(list, Type::f16);
      add_hash(list, types_16[1], {.bias = Bias::of_columns, .activation = Activation::gelu_tanh});
      add_hash(list, types_16[0], {.bias = Bias::of_rows, .activation = Activation::gelu_erf, .residual = true});
    }
  }
  const std::string path = LAPIDARY_SOURCE_DIR "/results/emulator/choices.txt";
  if (std::getenv("LAPIDARY_RENEW")) std::ofstream(path) << text;
  std::ifstream file(path);
  const std::string known{std::istreambuf_iterator<char>(file), {}};
  std::istringstream now(text), before(known);
  int shown = 0;
  for (std::string a, b; std::getline(now, a) && shown < 20;) {
    std::getline(before, b);
    if (a != b) {
      ADD_FAILURE() << b << "\n  is now\n" << a;
      ++shown;
    }
  }
  EXPECT_TRUE(text == known) << "LAPIDARY_RENEW=1 writes " << path << " anew; its difference is for review";
}

}  // namespace
}  // namespace lapidary
