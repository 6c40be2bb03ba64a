#include "bench/workload.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/error.hpp"
#include "kernels/registry.hpp"

namespace lapidary::bench {
namespace {

std::vector<TimedProblem> parsed(const std::string& text) {
  std::istringstream list(text);
  return parse_problems(list, "list.txt");
}

std::string refusal_of(const std::string& text) {
  try {
    parsed(text);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

constexpr Orders RC = {Order::row_major, Order::column_major}, CR = {Order::column_major, Order::row_major};

DeviceProperties hopper() {
  DeviceProperties card{};
  card.name = "H200";
  card.compute_capability = 90;
  return card;
}

TEST(ProblemLists, LinesHaveSizesOrdersAndLabels) {
  const std::vector<TimedProblem> problems = parsed(
      "# a list\n"
      "\n"
      "128 6144 4096 RC 8B:qkv of some model  # the first layer\n"
      "  1\t2 1048576\r\n"
      "3 4 5 CR\n"
      "6 7 8 decoder# no blank before\n"
      "9 10 11 #RC\n"
      "12 13 14 rnn\r15 16 17");
  ASSERT_EQ(problems.size(), 7u);
  EXPECT_EQ(problems[0], (TimedProblem{128, 6144, 4096, RC, "8B:qkv of some model"}));
  EXPECT_EQ(problems[1], (TimedProblem{1, 2, 1048576}));
  EXPECT_EQ(problems[2], (TimedProblem{3, 4, 5, CR}));
  EXPECT_EQ(problems[3], (TimedProblem{.M = 6, .N = 7, .K = 8, .label = "decoder"}));
  EXPECT_EQ(problems[4], (TimedProblem{9, 10, 11}));
  EXPECT_EQ(problems[5], (TimedProblem{.M = 12, .N = 13, .K = 14, .label = "rnn"}));
  EXPECT_EQ(problems[6], (TimedProblem{15, 16, 17}));
  EXPECT_EQ(parsed("1 2 3 RC x64 of some").front(), (TimedProblem{1, 2, 3, RC, "of some", 64}));
  EXPECT_EQ(parsed("1 2 3 g64 experts").front(),
            (TimedProblem{.M = 1, .N = 2, .K = 3, .label = "experts", .groups = 64}));
  EXPECT_EQ(parsed("1 2 3 CR u8").front(),
            (TimedProblem{.M = 1, .N = 2, .K = 3, .orders = CR, .groups = 8, .uneven = true}));
  EXPECT_NE(refusal_of("1 2 3 g0").find("there are 'g0' groups, which is no whole number from g1 to g1048576"),
            std::string::npos)
      << refusal_of("1 2 3 g0");
  EXPECT_EQ(parsed("1 2 3 - decode").front().label, "- decode");
  EXPECT_EQ(parsed("\xef\xbb\xbf# marked as UTF-8\n1 2 3").size(), 1u);
  EXPECT_EQ(parsed("\xef\xbb\xbf"
                   "1 2 3")
                .size(),
            1u);
}

TEST(ProblemLists, RefusalsNameFileLineAndRule) {
  for (const auto& [text, parts] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"1 2 3\n\n4 5\n", {"list.txt:3: ", "there are 2 words of at least 3", "a line is M N K"}},
           {"1 2 x", {"list.txt:1: ", "K is 'x'", "from 1 to 1048576"}},
           {"# no\n0 2 3", {"list.txt:2: ", "M is '0'"}},
           {"1 -2 3", {"N is '-2'"}},
           {"1 2.5 3", {"N is '2.5'"}},
           {"1 2 1048577", {"K is '1048577'"}},
           {"1 2 99999999999999999999", {"K is '99999999999999999999'"}},
           {"1,2,3", {"there are 1 words"}},
           {"1 2 3 NT", {"the orders of A and B are 'NT'; there are RR, RC, CR, CC"}},
           {"1 2 3 rc", {"'rc'"}},
           {"1 2 3 RC, x", {"'RC,'"}},
           {"1 2 3 RCR", {"'RCR'"}},
           {"1 2 3 r,c x", {"'r,c'"}},
           {"1 2 3 T/N", {"'T/N'"}},
           {"1 2 3 R-C", {"'R-C'"}},
           {"1 2 3 R C", {"'R'"}},
           {"1 2 3 256", {"there is a fourth number, '256'"}},
           {std::string("1\0 2 3", 7), {"there are control characters in it"}},
           {"# nothing\n\n", {"list.txt has no problem in it", "a line is M N K"}}})
    for (const std::string& part : parts) EXPECT_NE(refusal_of(text).find(part), std::string::npos) << refusal_of(text);
  EXPECT_THROW(read_problems("/nowhere/list.txt"), InvalidArgument);
  EXPECT_THROW(read_problems("/"), InvalidArgument);
}

TEST(ProblemLists, ThoseOfTheProjectAreRead) {
  int lists = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LAPIDARY_SOURCE_DIR "/data/shapes")) {
    ++lists;
    std::ifstream file(entry.path());
    std::string first;
    std::getline(file, first);
    EXPECT_EQ(first.rfind("# ", 0), 0u) << entry.path();
    const std::vector<TimedProblem> problems = read_problems(entry.path().string());
    EXPECT_GE(problems.size(), 200u) << entry.path();
    for (const TimedProblem& problem : problems) EXPECT_TRUE(problem.orders) << entry.path();
  }
  EXPECT_EQ(lists, 4);
}

TEST(ProblemLists, CubesAreOneNumber) {
  EXPECT_EQ(sizes_text(512, 512, 512), "512");
  EXPECT_EQ(sizes_text(512, 512, 64), "512x512x64");
}

TEST(Workload, OrdersOfAProblemChooseTheKind) {
  const TimedProblem problems[] = {{1, 2, 3}, {4, 5, 6, RC, "layer"}, {7, 8, 9, CR}};
  const Workload workload = choose_kernels({.names = {"mma_padded"}, .kinds = {Type::bf16}}, problems, hopper());
  ASSERT_EQ(workload.tasks.size(), 3u);
  const Rung& rung = find_rung("mma_padded");
  for (const Task& task : workload.tasks) {
    GemmKind kind = Type::bf16;
    if (task.problem.orders) kind = {kind.type, kind.result, task.problem.orders->a, task.problem.orders->b};
    if (!rung.has(kind)) continue;
    ASSERT_EQ(task.entries.size(), 1u);
    EXPECT_EQ(task.entries[0].kernel, &rung.kernel(kind));
  }
  EXPECT_EQ(workload.tasks[1].problem.label, "layer");
  // Asked for in one order, it is of the problem's where that has one.
  const Workload same = choose_kernels({.names = {"mma_padded"}, .kinds = {parse_kind("bf16 RC"), Type::bf16}},
                                       std::span(problems).subspan(1, 1), hopper());
  EXPECT_EQ(same.tasks[0].entries.size(), 1u);
}

TEST(Workload, AKernelWithoutTheOrdersIsLeftOutAndThatIsSaid) {
  ASSERT_FALSE(find_rung("naive").has(parse_kind("f32 RC")));
  const TimedProblem problems[] = {{1, 2, 3}, {4, 5, 6, RC}};
  const Workload workload = choose_kernels({.names = {"naive"}}, problems, hopper());
  EXPECT_EQ(workload.tasks[0].entries.size(), 1u);
  EXPECT_TRUE(workload.tasks[1].entries.empty());
  ASSERT_EQ(workload.left_out.size(), 1u);
  const LeftOut& one = workload.left_out[0];
  EXPECT_EQ(one.kernel, "naive");
  EXPECT_EQ(one.kind, parse_kind("f32 RC"));
  EXPECT_EQ(std::vector({one.M, one.N, one.K}), (std::vector<std::int64_t>{4, 5, 6}));
  EXPECT_EQ(one.why, "naive has no f32 RC kernel; it has f32");
}

TEST(Workload, RefusesWhatNoKernelDoes) {
  const TimedProblem cube[] = {{64, 64, 64}}, mixed[] = {{64, 64, 64, RC}};
  EXPECT_THROW(choose_kernels({.names = {"naive"}}, mixed, hopper()), InvalidArgument);
  EXPECT_THROW(choose_kernels({.names = {"naive"}, .kinds = {Type::bf16}}, cube, hopper()), InvalidArgument);
  EXPECT_THROW(choose_kernels({.names = {"niave"}}, cube, hopper()), InvalidArgument);
  DeviceProperties older = hopper();
  older.compute_capability = 80;
  EXPECT_THROW(choose_kernels({.names = {"wgmma_tma"}}, cube, older), InvalidArgument);
}

TEST(Workload, AllKernelsAreThoseThatTheCardRuns) {
  const TimedProblem cube[] = {{64, 64, 64}};
  DeviceProperties older = hopper();
  older.compute_capability = 80;
  const auto has_hopper = [](const Workload& workload) {
    const std::vector<Entry>& entries = workload.tasks[0].entries;
    return std::any_of(entries.begin(), entries.end(), [](const Entry& e) { return e.rung->name() == "wgmma_tma"; });
  };
  EXPECT_TRUE(has_hopper(choose_kernels({}, cube, hopper())));
  EXPECT_FALSE(has_hopper(choose_kernels({}, cube, older)));
  EXPECT_TRUE(choose_kernels({}, cube, hopper()).left_out.empty());
  const std::size_t
      one = choose_kernels({.names = {"vectorized"}}, cube, hopper()).tasks[0].entries.size(),
      all = choose_kernels({.names = {"vectorized"}, .all_tiles = true}, cube, hopper()).tasks[0].entries.size();
  EXPECT_EQ(one, 1u);
  EXPECT_GE(all, one);
}

}  // namespace
}  // namespace lapidary::bench
