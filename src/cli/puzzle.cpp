#include "cli/puzzle.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <vector>

#include "cli/json.hpp"
#include "core/error.hpp"
#include "kernels/registry.hpp"
#include "kernels/sources.hpp"
#include "lens/source_text.hpp"
#include "model/data.hpp"

namespace lapidary::cli {
namespace {

constexpr const char* record = "results/emulator/mutants.json";

struct Puzzle {
  const Rung* rung;
  std::vector<std::string> lines;  ///< of the mutant's file
  int changed;                     ///< from 1 on; where the line is gone, that of the one behind it
  bool gone;
  std::string line;   ///< what the line was
  std::string fault;  ///< with lines of the mutant
};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The mutants whose file the program has as it was when they were recorded.
std::vector<Puzzle> puzzles(const std::string& kernel) {
  std::ifstream file(model::data_file(record));
  const Json json = Json::parse(file, nullptr, false);
  if (json.is_discarded())
    throw InvalidArgument(fmt::format("{} is missing or no JSON; script/mutants makes it", record));
  std::vector<Puzzle> all;
  for (const Json& mutant : json.at("mutants")) {
    if (!mutant.contains("becomes") || (!kernel.empty() && mutant.at("kernel") != kernel)) continue;
    const Rung& rung = find_rung(mutant.at("kernel").get<std::string>());
    Puzzle puzzle{&rung,
                  lines_of(rung_source(rung.name())),
                  mutant.at("line"),
                  mutant.at("becomes").is_null(),
                  mutant.at("source"),
                  mutant.at("fault")};
    const auto place = static_cast<std::size_t>(puzzle.changed) - 1;
    if (place >= puzzle.lines.size() || puzzle.lines[place] != puzzle.line) continue;
    if (puzzle.gone)
      puzzle.lines.erase(puzzle.lines.begin() + puzzle.changed - 1);
    else
      puzzle.lines[place] = mutant.at("becomes");
    all.push_back(std::move(puzzle));
  }
  return all;
}

std::int64_t ask() {
  fmt::print("Line: ");
  std::fflush(stdout);
  std::string text;
  std::getline(std::cin, text);
  std::int64_t line = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), line);
  if (error != std::errc() || end == text.data())
    throw InvalidArgument(fmt::format("'{}' is no line number; --answer LINE answers too", text));
  return line;
}

}  // namespace

ExitCode ask_puzzle(const std::string& kernel, std::optional<std::int64_t> seed, std::optional<std::int64_t> answer) {
  if (!kernel.empty()) find_rung(kernel);
  const std::vector<Puzzle> all = puzzles(kernel);
  if (all.empty())
    throw InvalidArgument(kernel.empty()
                              ? fmt::format("{} is not of this program's kernels; script/mutants renews it", record)
                              : fmt::format("there is no puzzle of {}: it shares its kernel with its parent", kernel));
  if (!seed) seed = std::random_device()() % 100000;
  std::minstd_rand random(static_cast<unsigned>(*seed) + 1);
  random.discard(1);
  const Puzzle& puzzle = all[random() % all.size()];

  // What a rung says of itself comes first in its file and is of no help here.
  std::size_t first = 0;
  while (first < puzzle.lines.size() && puzzle.lines[first] != "};") ++first;
  fmt::print("There is one bug in {}. Which line is wrong, or which one is there a line missing before?\n\n",
             puzzle.rung->source);
  for (std::size_t i = first + 1; i < puzzle.lines.size(); ++i) fmt::print("{:4}  {}\n", i + 1, puzzle.lines[i]);
  fmt::print("\n");

  const std::int64_t line = answer ? *answer : ask();
  const bool right = line == puzzle.changed || (puzzle.gone && line == puzzle.changed - 1);
  const std::size_t begin = puzzle.line.find_first_not_of(' ');
  fmt::print("{}: {} `{}`\n\nThe emulated machine says:\n", right ? "Right" : "Wrong",
             puzzle.gone ? fmt::format("before line {} there was", puzzle.changed)
                         : fmt::format("line {} was", puzzle.changed),
             puzzle.line.substr(begin));
  lens::SourceText sources;
  sources.replace(puzzle.rung->source, puzzle.lines);
  std::istringstream fault(sources.annotate(puzzle.fault));
  for (std::string text; std::getline(fault, text);) fmt::print("  {}\n", text);
  fmt::print("\nThis one again: lapidary check {}--puzzle --seed {}\n", kernel.empty() ? "" : kernel + " ", *seed);
  return right ? success : wrong_result;
}

}  // namespace lapidary::cli
