#include "kernels/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <utility>

#include "core/edit_distance.hpp"
#include "core/error.hpp"
#include "core/tiles.hpp"
#include "kernels/sources.hpp"

// rungs.def has the rungs of ladder.def that this program was configured with, LAPIDARY_RUNGS.
// An optional rung is a rung where the build found what it needs.
#define LAPIDARY_OPTIONAL_RUNG(family, name, what) LAPIDARY_IF(LAPIDARY_WITH_##what)(LAPIDARY_RUNG(family, name))
#define LAPIDARY_IF(found) LAPIDARY_IF_EXPANDED(found)
#define LAPIDARY_IF_EXPANDED(found) LAPIDARY_IF_##found
#define LAPIDARY_IF_0(...)
#define LAPIDARY_IF_1(...) __VA_ARGS__

namespace lapidary {

#define LAPIDARY_RUNG(family, name)     \
  BuiltRung rung_plain_##name();        \
  BuiltRung rung_instrumented_##name(); \
  BuiltRung rung_gpu_##name();
#include "kernels/rungs.def"
#undef LAPIDARY_RUNG

namespace {

/// What needs compute capability 9.0 is compiled for sm_90a, whose instructions and machine code no other card has.
constexpr int architecture_of_its_own = 90;
constexpr std::size_t most_of_id = 200;  // letters

std::string source_of(const char* family, const char* name) {
  return fmt::format("src/kernels/{}/{}.cuh", family, name);
}

/// Joins what the builds of a rung registered, in the order of `Build`.
Rung make_rung(const char* family, const char* name, const std::array<BuiltRung, 3>& builds) {
  Rung rung{builds[0].info, family, source_of(family, name), {}};
  for (std::size_t build = 0; build < builds.size(); ++build) {
    for (const BuiltKernel& built : std::span(builds[build].kernels, static_cast<std::size_t>(builds[build].count))) {
      auto place = std::find_if(rung.kernels.begin(), rung.kernels.end(),
                                [&](const KernelEntry& known) { return known.traits() == built.traits; });
      if (place == rung.kernels.end())
        place = rung.kernels.insert(place, {built.traits,
                                            name,
                                            rung.info->fallback,
                                            {},
                                            built.order,
                                            built.fast_accumulation,
                                            built.finishes,
                                            built.batches,
                                            built.groups,
                                            built.split});
      place->builds[build] = &built;
    }
  }
  return rung;
}

// A build that the program was made without registers nothing.
#if LAPIDARY_WITH_INSTRUMENTED
#define LAPIDARY_RUNG_INSTRUMENTED(name) rung_instrumented_##name()
#else
#define LAPIDARY_RUNG_INSTRUMENTED(name) BuiltRung()
#endif
#if LAPIDARY_WITH_CUDA
#define LAPIDARY_RUNG_GPU(name) rung_gpu_##name()
#else
#define LAPIDARY_RUNG_GPU(name) BuiltRung()
#endif

std::vector<Rung> all_rungs() {
  return {
#define LAPIDARY_RUNG(family, name) \
  make_rung(#family, #name, {rung_plain_##name(), LAPIDARY_RUNG_INSTRUMENTED(name), LAPIDARY_RUNG_GPU(name)}),
#include "kernels/rungs.def"
#undef LAPIDARY_RUNG
  };
}

#undef LAPIDARY_RUNG_INSTRUMENTED
#undef LAPIDARY_RUNG_GPU

// What optional rungs need: needs_<WHAT>.
constexpr std::string_view needs_CUTLASS =
    "CUTLASS's headers; get them and build with them, as docs/cute.md tells: "
    "python3 -m venv /tmp/cutlass && /tmp/cutlass/bin/pip install --no-deps nvidia-cutlass && "
    "cmake -S . -B build -DLAPIDARY_CUTLASS_DIR=$(echo /tmp/cutlass/lib/python3*/site-packages/cutlass_library/source) "
    "&& cmake --build build --target lapidary_program";

std::vector<OptionalRung> all_optional_rungs() {
  std::vector<OptionalRung> rungs;
  std::size_t place = 0;
#undef LAPIDARY_OPTIONAL_RUNG
#define LAPIDARY_RUNG(family, name) ++place;
#define LAPIDARY_OPTIONAL_RUNG(family, name, what) \
  rungs.push_back({#name, #family, source_of(#family, #name), needs_##what, LAPIDARY_WITH_##what, place++});
#include "kernels/rungs.def"
#undef LAPIDARY_RUNG
#undef LAPIDARY_OPTIONAL_RUNG
  return rungs;
}

/// Up to three rungs that the name may have meant, nearest first; a part of a name counts as near.
std::vector<std::string_view> nearest_rungs(std::string_view name) {
  constexpr std::size_t most = 3;
  const std::size_t far = std::max<std::size_t>(3, name.size() / 2);
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const Rung& rung : ladder()) {
    const bool part = name.size() > 1 && rung.name().find(name) != std::string_view::npos;
    const std::size_t distance = part ? 0 : edit_distance(name, rung.name());
    if (distance < far) near.emplace_back(distance, rung.name());
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string_view> names;
  for (const auto& [distance, nearest] : near) {
    if (names.size() < most) names.push_back(nearest);
  }
  return names;
}

/// Whether a text of parts, with _ between them, begins with some of its parts.
bool begins_with_part(std::string_view text, std::string_view parts) {
  return text.substr(0, parts.size()) == parts && (text.size() == parts.size() || text[parts.size()] == '_');
}

}  // namespace

bool Rung::has(const GemmKind& kind) const {
  return std::any_of(kernels.begin(), kernels.end(), [&](const KernelEntry& k) { return k.kind == kind; });
}

int Rung::architecture(const GemmKind& kind) const {
  return kind.type == Type::e4m3 ? std::max(info->architecture, 89) : info->architecture;
}

bool Rung::runs_on(int compute_capability, const GemmKind& kind) const {
  return info->architecture == architecture_of_its_own ? compute_capability == architecture_of_its_own
                                                       : compute_capability >= architecture(kind);
}

std::string Rung::requirement(const GemmKind& kind) const {
  const int least = architecture(kind);
  const char* const itself = least != architecture_of_its_own ? ""
                             : family == "wgmma"              ? " itself, as wgmma is of sm_90a alone"
                                                              : " itself, as it is compiled for sm_90a alone";
  return fmt::format("compute capability {}.{}{}", least / 10, least % 10, itself);
}

std::string refusal(const Rung& rung, const GemmKind& kind, std::string_view name, int compute_capability) {
  if (rung.runs_on(compute_capability, kind)) return {};
  return fmt::format("{} needs {}; {} has {}.{}", rung.name(), rung.requirement(kind), name, compute_capability / 10,
                     compute_capability % 10);
}

std::string Rung::tile_of(const KernelEntry& kernel) const {
  const std::string tile = to_string(kernel.tile);
  const auto first = std::find_if(kernels.begin(), kernels.end(), [&](const KernelEntry& other) {
    return other.kind == kernel.kind && other.tile == kernel.tile;
  });
  if (first == kernels.end() || *first == kernel) return tile;
  const std::string all = to_string(kernel.traits());
  return all.substr(0, all.rfind('_'));
}

const KernelEntry& Rung::kernel(const GemmKind& kind, std::string_view tile) const {
  std::string tiles, kinds;
  std::vector<GemmKind> seen;
  for (const KernelEntry& candidate : kernels) {
    if (candidate.kind == kind) {
      if (tile.empty() || begins_with_part(to_string(candidate.traits()), tile)) return candidate;
      tiles += (tiles.empty() ? "" : ", ") + tile_of(candidate);
    } else if (std::find(seen.begin(), seen.end(), candidate.kind) == seen.end()) {
      seen.push_back(candidate.kind);
      kinds += (kinds.empty() ? "" : ", ") + to_string(candidate.kind);
    }
  }
  if (!tiles.empty()) {
    throw InvalidArgument(fmt::format("{} has no tile {} for {}; it has {}", info->name, tile, to_string(kind), tiles));
  }
  throw InvalidArgument(fmt::format("{} has no {} kernel; it has {}", info->name, to_string(kind), kinds));
}

std::span<const Rung> ladder() {
  static const std::vector<Rung> rungs = all_rungs();
  return rungs;
}

std::span<const OptionalRung> optional_rungs() {
  static const std::vector<OptionalRung> rungs = all_optional_rungs();
  return rungs;
}

const Rung& find_rung(std::string_view name) {
  for (const Rung& rung : ladder()) {
    if (rung.name() == name) return rung;
  }
  for (const OptionalRung& rung : optional_rungs()) {
    if (rung.name == name)
      throw Refusal(RefusalId::kernel_unknown,
                    fmt::format("this program was built without {}, which needs {}", name, rung.needs));
  }
  if (!rung_source(name).empty()) {
    throw Refusal(
        RefusalId::kernel_unknown,
        fmt::format(
            "this program was built without {}; configure it with -DLAPIDARY_RUNGS=\"\", or with a list that names it",
            name));
  }
  const std::vector<std::string_view> near = nearest_rungs(name);
  std::string names;
  for (const std::string_view other : near) names += fmt::format("{}{}", names.empty() ? "" : ", ", other);
  if (!near.empty())
    throw Refusal(RefusalId::kernel_unknown, fmt::format("no kernel is named '{}'; near it are {}", name, names));
  for (const Rung& rung : ladder()) names += fmt::format("{}{}", names.empty() ? "" : ", ", rung.name());
  throw Refusal(RefusalId::kernel_unknown, fmt::format("no kernel is named '{}'; there are {}", name, names));
}

std::string to_string(const TileShape& tile) {
  return tile.k == 0 ? fmt::format("{}x{}", tile.m, tile.n) : fmt::format("{}x{}x{}", tile.m, tile.n, tile.k);
}

std::string to_string(const KernelTraits& t) {
  std::string text = to_string(t.tile);
  if (t.stages != 1) text += fmt::format("_s{}", t.stages);
  if (t.cluster != ClusterShape{}) text += fmt::format("_c{}x{}", t.cluster.down, t.cluster.across);
  if (t.slices != 0 || t.cols != 0) text += fmt::format("_e{}x{}", t.slices, t.cols);
  std::string kind = to_string(t.kind);
  std::replace_if(
      kind.begin(), kind.end(), [](char c) { return c == '/' || c == ' '; }, '-');
  return fmt::format("{}_{}", text, kind);
}

std::string KernelEntry::id() const { return fmt::format("{}_{}", rung, to_string(*this)); }

KernelId parse_kernel_id(std::string_view id) {
  // Rung, tile, stages, cluster, slices, types, orders.
  static const std::regex form(
      R"((\w+?)_(\d{1,9})x(\d{1,9})(?:x(\d{1,9}))?(?:_s(\d{1,9}))?(?:_c(\d{1,9})x(\d{1,9}))?(?:_e(\d{1,9})x(\d{1,9}))?)"
      R"(_([a-z][a-z0-9]*)(?:-([a-z][a-z0-9]*))?(?:-([RC]{2}))?)");
  const auto refuse = [&] {
    throw Refusal(
        RefusalId::kernel_unknown,
        fmt::format(
            "'{}' is no kernel's id; they are written as in multistage_128x128x32_s3_f32 or wgmma_cluster_128x256x64_s4_c2x1_e2x64_bf16-RC",
            id.substr(0, most_of_id)));
  };
  // Matching takes stack by the length of the text.
  std::cmatch found;
  if (id.size() > most_of_id || !std::regex_match(id.begin(), id.end(), found, form)) refuse();
  const auto number = [&](std::size_t group, int otherwise) {
    return found[group].matched ? std::stoi(found[group].str()) : otherwise;
  };
  const std::string result = found[11].matched ? fmt::format("/{}", found[11].str()) : "",
                    orders = found[12].matched ? fmt::format(" {}", found[12].str()) : "",
                    kind = fmt::format("{}{}{}", found[10].str(), result, orders);
  KernelId parsed = {found[1],
                     {.tile = {number(2, 0), number(3, 0), number(4, 0)},
                      .kind = parse_kind(kind),
                      .stages = number(5, 1),
                      .cluster = {number(6, 1), number(7, 1)},
                      .slices = number(8, 0),
                      .cols = number(9, 0)}};
  // One kernel has one id: what it has none of is left out, and numbers begin with no 0.
  if (id != fmt::format("{}_{}", parsed.rung, to_string(parsed.traits))) refuse();
  return parsed;
}

const KernelEntry& find_kernel(std::string_view id) {
  const KernelId parsed = parse_kernel_id(id);
  const Rung& rung = find_rung(parsed.rung);
  std::string ids;
  for (const KernelEntry& kernel : rung.kernels) {
    if (kernel.traits() == parsed.traits) return kernel;
    ids += fmt::format("{}{}", ids.empty() ? "" : ", ", kernel.id());
  }
  throw Refusal(RefusalId::kernel_unknown,
                fmt::format("no kernel has the id {}; those of {} are {}", id, parsed.rung, ids));
}

RowCol<std::int64_t> tiles_of(const KernelEntry& kernel, std::int64_t M, std::int64_t N) {
  return tiles_of(kernel.tile, kernel.cluster, M, N);
}

std::string refusal(const KernelEntry& kernel, const Problem& unresolved) {
  if (unresolved.kind != kernel.kind) {
    return fmt::format("the problem is of type {}; this kernel was instantiated for {}", to_string(unresolved.kind),
                       to_string(kernel.kind));
  }
  const Problem problem = resolved(unresolved);
  if (auto broken = unsupported(problem, kernel.finishes, kernel.batches, kernel.groups)) return std::move(broken->why);
  if (problem.M == 0 || problem.N == 0) return {};
  if (std::string broken = refusal_by_tiles(kernel.tile, kernel.cluster, kernel.order.at, problem); !broken.empty())
    return broken;
  for (const BuiltKernel* const built : kernel.builds)
    if (built) return built->refusal ? built->refusal(problem) : std::string();
  return {};
}

Choice choose(const KernelEntry& kernel, const Problem& problem) {
  std::string why = refusal(kernel, problem);
  if (why.empty()) return {&kernel, {}};
  if (problem.kind == kernel.kind) {
    for (const Rung& rung : ladder()) {
      if (rung.name() != kernel.fallback) continue;
      for (const KernelEntry& other : rung.kernels)
        if (refusal(other, problem).empty()) return {&other, fmt::format("{} does not take it: {}", kernel.rung, why)};
      why += fmt::format("; nor does a kernel of {} take such a problem", rung.name());
    }
  }
  throw Refusal(RefusalId::kernel_problem, why);
}

Prepared prepare(const KernelEntry& kernel, Build build, const Problem& unresolved, const Card& card) {
  const Problem problem = resolved(unresolved);
  validate(problem);
  if (const std::string broken = refusal(kernel, problem); !broken.empty())
    throw Refusal(RefusalId::kernel_problem, broken);
  const BuiltKernel* const built = kernel.builds[static_cast<std::size_t>(build)];
  if (!built) {
    throw Refusal(RefusalId::device_build,
                  fmt::format("this program has no {} build of {}{}", name_of(build), kernel.id(),
                              build == Build::gpu            ? "; configure it where nvcc is on the PATH"
                              : build == Build::instrumented ? "; configure it with LAPIDARY_INSTRUMENTED=ON"
                                                             : ""));
  }
  if (problem.M == 0 || problem.N == 0) return {.problem = problem, .build = build};
  if (const std::string broken = refusal_by_multiprocessors(card.multiprocessors, kernel.cluster, kernel.id());
      !broken.empty())
    throw Refusal(RefusalId::card_multiprocessors, broken);
  return built->prepare(problem, card);
}

Choice run(const KernelEntry& kernel, Build build, const Stream& stream, const Problem& unresolved,
           const Operands& operands) {
  const Problem problem = with_known(resolved(unresolved), operands);
  validate(problem);
  require_stream_for(build, stream);
  const Choice choice = choose(kernel, problem);
  prepare(*choice.kernel, build, problem, card_of(stream)).launch(stream, operands);
  return choice;
}

}  // namespace lapidary
