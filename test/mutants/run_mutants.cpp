// Runs mutants of one rung, which script/mutants has compiled into a shared object: all of them are in it, and a number
// chooses one.
//
//   run_mutants OBJECT KERNEL TYPE TILE SCHEDULES NUMBER...
//
// Prints a line of JSON for each number, of which 0 is the rung as it is: `caught` (null, a kind of bench::Finding,
// "crash" or "hang"), and `reached`, the numbers of the mutants whose code it came by.
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "bench/check.hpp"
#include "core/error.hpp"

namespace {

using Json = nlohmann::ordered_json;

/// A run takes tenths of a second.
constexpr unsigned most_seconds = 30;

int selected = 0;
std::array<bool, 4096> reached;

}  // namespace

/// What the source of a mutant asks: whether it is the one.
extern "C" __attribute__((visibility("default"))) bool lapidary_is_mutant(int number) {
  reached[static_cast<std::size_t>(number)] = true;
  return number == selected;
}

namespace lapidary {
namespace {

Json run(const Rung& rung, const KernelEntry& kernel, int schedules) {
  Json json = {{"number", selected}, {"caught", nullptr}};
  for (const bench::CheckProblem& problem : bench::check_problems(kernel.kind, kernel.tile)) {
    const auto found = bench::check(rung, kernel, problem, 1, schedules).found;
    if (!found) continue;
    json["caught"] = found->kind;
    json["problem"] = problem.tries;
    json["fault"] = found->message;
    break;
  }
  json["reached"] = Json::array();
  for (std::size_t number = 0; number < reached.size(); ++number)
    if (reached[number]) json["reached"].push_back(number);
  return json;
}

/// In a process of its own: a mutant may do anything.
Json run_apart(const Rung& rung, const KernelEntry& kernel, int schedules) {
  int ends[2];
  if (pipe(ends) != 0) throw Error("pipe failed");
  const pid_t child = fork();
  if (child == 0) {
    alarm(most_seconds);
    const std::string text = run(rung, kernel, schedules).dump();
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
  const bool hangs = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  return {{"number", selected}, {"caught", hangs ? "hang" : "crash"}, {"reached", Json::array()}};
}

/// The kind of a kernel, by the name that to_string() gives it.
GemmKind kind_named(const Rung& rung, std::string_view name) {
  for (const KernelEntry& kernel : rung.kernels)
    if (name == to_string(kernel.kind)) return kernel.kind;
  throw InvalidArgument("the kernel takes no such types");
}

int run_all(int argc, char** argv) {
  if (argc < 7) throw InvalidArgument("run_mutants OBJECT KERNEL TYPE TILE SCHEDULES NUMBER...");
  void* const object = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!object) throw InvalidArgument(dlerror());
  const auto built = reinterpret_cast<BuiltRung (*)()>(dlsym(object, "lapidary_mutants"))();
  Rung rung = find_rung(argv[2]);
  const KernelEntry known = rung.kernel(kind_named(rung, argv[3]), argv[4]);
  std::optional<KernelEntry> mutant;
  for (int i = 0; i < built.count; ++i) {
    if (built.kernels[i].traits != known.traits()) continue;
    mutant = {known.traits(), known.rung, known.fallback, {}};
    mutant->builds[static_cast<std::size_t>(Build::instrumented)] = &built.kernels[i];
  }
  if (!mutant) throw InvalidArgument("the object has no such kernel");
  rung.kernels = {*mutant};
  for (int i = 6; i < argc; ++i) {
    selected = std::atoi(argv[i]);
    std::printf("%s\n", run_apart(rung, *mutant, std::atoi(argv[5])).dump().c_str());
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
