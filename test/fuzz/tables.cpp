#include <fmt/format.h>

#include <sstream>

#include "bench/workload.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "fuzz.hpp"
#include "model/energy.hpp"
#include "model/gpu.hpp"

namespace lapidary::fuzz {
namespace {

std::string file(const std::string& path) { return read_file(LAPIDARY_SOURCE_DIR "/" + path).value(); }

std::string first_lines(std::string text, int lines) {
  std::size_t end = 0;
  while (lines-- > 0 && end < text.size()) end = std::min(text.find('\n', end), text.size() - 1) + 1;
  text.resize(end);
  return text;
}

void read_gpus(const std::string& input) {
  for (const model::Gpu& gpu : model::parse_gpus(input, "gpus.csv")) {
    if (gpu.name.empty()) throw Violation("a card without a name");
    gpu.answers_to("h200");
  }
}

void read_power(const std::string& input) {
  const model::PowerModel power(input, "power.json");
  if (!(power.watts({{"wgmma bf16 flop", 1e12}}, 1e-3, 1e9) >= 0)) throw Violation("a card that gives power");
}

std::string written(const std::vector<bench::TimedProblem>& problems) {
  std::string text;
  for (const bench::TimedProblem& p : problems) {
    const auto letter = [](Order order) { return order == Order::row_major ? 'R' : 'C'; };
    text += fmt::format("{} {} {}", p.M, p.N, p.K);
    if (p.orders) text += fmt::format(" {}{}", letter(p.orders->a), letter(p.orders->b));
    text += " " + p.label + "\n";
  }
  return text;
}

std::vector<bench::TimedProblem> problems_of(const std::string& text) {
  std::istringstream list(text);
  return bench::parse_problems(list, "problems");
}

void read_problems(const std::string& input) {
  const std::vector<bench::TimedProblem> problems = problems_of(input);
  require_same("a list of problems", written(problems), written(problems_of(written(problems))));
}

}  // namespace

std::vector<Target> table_targets() {
  const std::string gpus = file("data/gpus.csv");
  return {{"gpus",
           {gpus, first_lines(gpus, 2), first_lines(gpus, 3)},
           {"h200", ",", "\n", "?", "9.0", "8.9", "gpu", "sms", "note", "aliases", ";", "\"", "1e9", "132"},
           read_gpus},
          {"power",
           {file("results/h200/power.json")},
           {"idle", "value", "voltage", "wgmma bf16 flop", "-1", "1e300"},
           read_power},
          {"problems",
           {first_lines(file("data/shapes/llm.txt"), 12), first_lines(file("data/shapes/deepbench.txt"), 12),
            "128 256 64 RC a label\r\n1 1 1\n"},
           {"RR", "RC", "CR", "CC", "RCR", "T", "#", "\n", "\r\n", "\t", " ", "128", "1048576", "1048577", "label"},
           read_problems}};
}

}  // namespace lapidary::fuzz
