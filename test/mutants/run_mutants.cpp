// Runs mutants of one rung, which script/mutants has compiled into a shared object: all of them are in it, and a number
// chooses one.
//
//   run_mutants OBJECT KERNEL TYPE TILE SCHEDULES
//
// Runs the rung as it is, number 0, and then mutants: by standard input comes a line for each, with its number and
// under how many of the schedules it is run. Prints a line of JSON for each: `number`, and `caught`, which is null or a
// kind of bench::Finding, "another kernel" where another one ran than without the mutation, "another refusal" where it
// ran for another reason, "refusal" where none ran, "crash" or "hang". That of 0 has `reached`, the numbers of the
// mutants whose code it came by. A mutant is run only on problems, and under schedules, that came by its code.
#include <dlfcn.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/check.hpp"
#include "core/error.hpp"

namespace {

using Json = nlohmann::ordered_json;

/// Of the processor's time, for a run that takes tenths of a second; and of any time, for one that waits for ever.
constexpr int most_seconds = 10, most_seconds_of_all = 600;

int selected = 0;
std::array<bool, 1 << 16> reached;

}  // namespace

/// What the source of a mutant asks: whether it is the one.
extern "C" __attribute__((visibility("default"))) bool lapidary_is_mutant(int number) {
  reached[static_cast<std::size_t>(number)] = true;
  return number == selected;
}

namespace lapidary {
namespace {

/// A problem under one schedule, and what the rung does with it as it is.
struct Trial {
  bench::CheckProblem problem;
  std::uint64_t seed;
  std::set<int> reached = {};
  std::string ran = {}, why = {};  ///< as of bench::Checked
};

/// All problems under the first schedule, then under the next: that finds most soonest.
std::vector<Trial> trials_of(const KernelEntry& kernel, int schedules) {
  std::vector<Trial> trials;
  for (int seed = 1; seed <= schedules; ++seed)
    for (const bench::CheckProblem& problem : bench::check_problems(kernel))
      trials.push_back({problem, static_cast<std::uint64_t>(seed)});
  return trials;
}

void limit_time() {
  const itimerval limit = {.it_interval = {}, .it_value = {.tv_sec = most_seconds, .tv_usec = 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}

/// What becomes of the selected mutant, or of the rung as it is, in the trials of so many schedules.
Json run(const Rung& rung, const KernelEntry& kernel, const std::vector<Trial>& trials, std::uint64_t schedules) {
  Json json = {{"number", selected}, {"caught", nullptr}};
  const auto catch_by = [&](const Trial& trial, const std::string& kind, const std::string& message) {
    json.update({{"caught", kind}, {"problem", trial.problem.tries}, {"fault", message}});
  };
  for (const Trial& trial : trials) {
    if (trial.seed > schedules || (selected != 0 && !trial.reached.contains(selected))) continue;
    limit_time();
    reached = {};
    try {
      if (selected != 0 && !trial.problem.refused && trial.ran != kernel.id()) {
        // Another kernel has no mutant in it: it does what it did, if it is asked for as it was.
        const bench::Checked chosen = bench::chosen(kernel, trial.problem);
        if (chosen.ran == trial.ran && chosen.why == trial.why) continue;
      }
      const bench::Checked checked = bench::check(rung, kernel, trial.problem, trial.seed, 1);
      if (checked.found)
        catch_by(trial, checked.found->kind, checked.found->message);
      else if (selected != 0 && checked.ran != trial.ran)
        catch_by(trial, "another kernel", checked.why);
      else if (selected != 0 && checked.why != trial.why)
        catch_by(trial, "another refusal", checked.why);
      if (selected == 0) json["ran"].push_back({checked.ran, checked.why});
    } catch (const Error& error) {
      catch_by(trial, "refusal", error.what());
    }
    if (!json["caught"].is_null()) break;
    if (selected != 0) continue;
    Json& numbers = json["reached"].emplace_back(Json::array());
    for (std::size_t number = 0; number < reached.size(); ++number)
      if (reached[number]) numbers.push_back(number);
  }
  return json;
}

/// In a process of its own: a mutant may do anything.
Json run_apart(const Rung& rung, const KernelEntry& kernel, const std::vector<Trial>& trials, std::uint64_t schedules) {
  int ends[2];
  if (pipe(ends) != 0) throw Error("pipe failed");
  const pid_t child = fork();
  if (child == 0) {
    alarm(most_seconds_of_all);
    const std::string text = run(rung, kernel, trials, schedules).dump();
    FILE* const out = fdopen(ends[1], "w");
    std::fwrite(text.data(), 1, text.size(), out);
    std::fclose(out);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t bytes; (bytes = read(ends[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Json::parse(text);
  const bool hangs = WIFSIGNALED(status) && (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGPROF);
  return {{"number", selected}, {"caught", hangs ? "hang" : "crash"}};
}

/// Prints what becomes of the rung as it is, and keeps of it what its mutants are held against.
void run_whole(const Rung& rung, const KernelEntry& kernel, std::vector<Trial>& trials) {
  const Json whole = run_apart(rung, kernel, trials, trials.back().seed);
  std::set<int> all;
  if (whole["caught"].is_null()) {
    for (std::size_t i = 0; i < trials.size(); ++i) {
      trials[i].ran = whole["ran"][i][0];
      trials[i].why = whole["ran"][i][1];
      trials[i].reached = whole["reached"][i].get<std::set<int>>();
      all.merge(std::set<int>(trials[i].reached));
    }
  }
  Json line = {{"number", 0}, {"caught", whole["caught"]}, {"fault", whole.value("fault", "")}, {"reached", all}};
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

/// The kind of a kernel, by the name that to_string() gives it.
GemmKind kind_named(const Rung& rung, std::string_view name) {
  for (const KernelEntry& kernel : rung.kernels)
    if (name == to_string(kernel.kind)) return kernel.kind;
  throw InvalidArgument("the kernel takes no such types");
}

int run_all(int argc, char** argv) {
  if (argc != 6) throw InvalidArgument("run_mutants OBJECT KERNEL TYPE TILE SCHEDULES");
  void* const object = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!object) throw InvalidArgument(dlerror());
  const auto built = reinterpret_cast<BuiltRung (*)()>(dlsym(object, "lapidary_mutants"))();
  Rung rung = find_rung(argv[2]);
  const KernelEntry known = rung.kernel(kind_named(rung, argv[3]), argv[4]);
  std::optional<KernelEntry> mutant;
  for (int i = 0; i < built.count; ++i) {
    if (built.kernels[i].traits != known.traits()) continue;
    mutant = {known.traits(), known.rung, known.fallback, {}};
    mutant->batches = known.batches;
    mutant->groups = known.groups;
    mutant->split = known.split;
    mutant->builds[static_cast<std::size_t>(Build::instrumented)] = &built.kernels[i];
  }
  if (!mutant) throw InvalidArgument("the object has no such kernel");
  rung.kernels = {*mutant};
  std::vector<Trial> trials = trials_of(*mutant, std::atoi(argv[5]));
  run_whole(rung, *mutant, trials);
  for (std::uint64_t schedules; std::cin >> selected >> schedules;) {
    std::printf("%s\n", run_apart(rung, *mutant, trials, schedules).dump().c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace lapidary

int main(int argc, char** argv) {
  try {
    return lapidary::run_all(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run_mutants: %s\n", error.what());
    return 2;
  }
}
