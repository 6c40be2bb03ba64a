// Runs a target on inputs that a seed makes: the same ones on every machine. They are read in a process of their own,
// so that one which ends it or keeps it busy is known, made small and printed with the command that repeats it.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "core/error.hpp"
#include "fuzz.hpp"
#include "trial/shared_object.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define LAPIDARY_WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LAPIDARY_WITH_ASAN 1
#endif
#endif

#if defined(LAPIDARY_WITH_ASAN)
// AddressSanitizer takes more address space than there is memory, and bounds what it uses itself.
extern "C" const char* __asan_default_options() { return "hard_rss_limit_mb=4096:detect_leaks=0"; }
constexpr bool with_asan = true;
#else
constexpr bool with_asan = false;
#endif

namespace lapidary::fuzz {
namespace {

constexpr int most_seconds = 10;  // of processor time that an input takes
constexpr rlim_t most_memory = rlim_t{2} << 30;
constexpr int most_attempts = 600;           // to make an input smaller
constexpr long most_attempted_seconds = 60;  // of processor time

/// What the process that reads inputs has to say, in memory that outlives it.
struct Progress {
  std::uint64_t input, accepted;
  char finding[512];  ///< empty where it has none, or could not say it
};

struct Failure {
  std::uint64_t input;
  std::string what;
};

void say(Progress& progress, const std::string& finding) {
  progress.finding[finding.copy(progress.finding, sizeof progress.finding - 1)] = 0;
}

/// Reads one input. Returns false if there is a finding.
bool read(const Target& target, const std::string& input, Progress& progress) {
  const itimerval limit{{}, {most_seconds, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
  try {
    target.read(input);
    ++progress.accepted;
  } catch (const Error& refusal) {
    if (*refusal.what() != 0) return true;
    say(progress, "a refusal without a message");
    return false;
  } catch (const std::exception& error) {
    say(progress, fmt::format("{}: {}", typeid(error).name(), error.what()));
    return false;
  }
  return true;
}

/// Runs `body` in a process of its own, which prints nothing but what sanitizers say, and that if `loud` alone.
/// Returns what ended it, or nothing.
template <class Body>
std::string run_apart(Progress& progress, bool loud, const Body& body) {
  progress.finding[0] = 0;
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) throw Error(fmt::format("fork: {}", std::strerror(errno)));
  if (child == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    if (!loud) dup2(null, STDERR_FILENO);
    if (!with_asan) {
      const rlimit memory{most_memory, most_memory};
      setrlimit(RLIMIT_AS, &memory);
    }
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  if (progress.finding[0] != 0) return progress.finding;
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGPROF ? fmt::format("it takes more than {} s", most_seconds)
                                       : std::string(strsignal(WTERMSIG(status)));
  return "a sanitizer ends the program";
}

std::string made(const Target& target, std::uint64_t seed, std::uint64_t input) {
  Random random(seed, input);
  return target.make ? target.make(target, random) : mutated(target, random);
}

/// Leaves out what can be left out with something still found of the same kind.
std::string minimised(const Target& target, std::string input, const std::string& what, Progress& progress) {
  const auto kind = [](const std::string& finding) { return finding.substr(0, finding.find(':')); };
  const auto seconds = [] {
    rusage children;
    getrusage(RUSAGE_CHILDREN, &children);
    return children.ru_utime.tv_sec + children.ru_stime.tv_sec;
  };
  const long begin = seconds();
  int attempts = 0;
  for (std::size_t size = std::max<std::size_t>(input.size() / 2, 1); size > 0; size /= 2) {
    for (std::size_t at = 0;
         at < input.size() && attempts < most_attempts && seconds() - begin < most_attempted_seconds;) {
      std::string smaller = input;
      smaller.erase(at, size);
      ++attempts;
      if (kind(run_apart(progress, false, [&] { return read(target, smaller, progress); })) == kind(what))
        input = std::move(smaller);
      else
        at += size;
    }
  }
  return input;
}

void report(const Target& target, const std::string& input, const std::string& what, Progress& progress) {
  const std::string small = minimised(target, input, what, progress);
  run_apart(progress, true, [&] { return read(target, small, progress); });  // for what sanitizers say
  fmt::print("{}: {}\n{} bytes, made smaller from {}:\n-----\n{}\n-----\n", target.name, what, small.size(),
             input.size(), small);
}

/// Returns whether all inputs were accepted or refused.
bool run(const Target& target, std::uint64_t seed, std::uint64_t first, std::uint64_t inputs, Progress& progress) {
  progress = {first, 0, {}};
  const std::string what = run_apart(progress, false, [&] {
    for (; progress.input < first + inputs; ++progress.input)
      if (!read(target, made(target, seed, progress.input), progress)) return false;
    return true;
  });
  if (what.empty()) {
    fmt::print("{}: {} inputs of seed {}, {} accepted\n", target.name, inputs, seed, progress.accepted);
    return true;
  }
  const std::uint64_t failed = progress.input;
  report(target, made(target, seed, failed), what, progress);
  fmt::print("repeat it: {} {} --seed {} --first {} --inputs 1\n",
             std::filesystem::read_symlink("/proc/self/exe").string(), target.name, seed, failed);
  return false;
}

/// The texts that inputs are made of are accepted themselves.
bool accepts_corpus(const Target& target, Progress& progress) {
  for (const std::string& input : target.corpus) {
    progress.accepted = 0;
    std::string what = run_apart(progress, false, [&] { return read(target, input, progress); });
    if (what.empty() && progress.accepted == 1) continue;
    if (what.empty()) what = "refused, and should be accepted";
    fmt::print("{}: {}:\n-----\n{}\n-----\n", target.name, what, input);
    return false;
  }
  return true;
}

int run_program(int argc, char** argv) {
  setenv("LAPIDARY_ROOT", scratch_file("").c_str(), 1);
  std::vector<Target> targets;
  for (const auto& some :
       {grammar_targets(), source_targets(), descriptor_targets(), table_targets(), document_targets()})
    targets.insert(targets.end(), some.begin(), some.end());
  std::vector<std::string> names;
  for (const Target& target : targets) names.push_back(target.name);

  CLI::App app("Reads inputs that nobody wrote, and says which of them ends or stops the program.", "fuzz");
  std::string name, path;
  std::uint64_t seed = 1, first = 0, inputs = 1000;
  app.add_option("TARGET", name, "what reads them")->required()->check(CLI::IsMember(names));
  app.add_option("--seed", seed, "other inputs for each (1)");
  app.add_option("--first", first, "the place of the first one in the seed's (0)");
  app.add_option("--inputs", inputs, "how many (1000)");
  app.add_option("--file", path, "the text of this file instead, - for standard input");
  CLI11_PARSE(app, argc, argv);

  const Target& target = *std::find_if(targets.begin(), targets.end(), [&](const Target& t) { return t.name == name; });
  void* const shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw Error(fmt::format("mmap: {}", std::strerror(errno)));
  Progress& progress = *new (shared) Progress{};
  if (path.empty()) return accepts_corpus(target, progress) && run(target, seed, first, inputs, progress) ? 0 : 1;
  std::ifstream file(path == "-" ? "/dev/stdin" : path, std::ios::binary);
  const std::string input{std::istreambuf_iterator<char>(file), {}};
  const std::string what = run_apart(progress, true, [&] { return read(target, input, progress); });
  fmt::print("{}: {}\n", name, !what.empty() ? what : progress.accepted == 1 ? "accepted" : "refused");
  return what.empty() ? 0 : 1;
}

}  // namespace

std::string scratch_file(const std::string& path) {
  static const trial::WorkFolder scratch("");
  return scratch.file(path);
}

void write_file(const std::string& path, std::string_view text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  if (!(file << text).flush()) throw std::runtime_error(path + " cannot be written");
}

}  // namespace lapidary::fuzz

int main(int argc, char** argv) { return lapidary::fuzz::run_program(argc, argv); }
