#include "lens/rung_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/data_file.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "kernels/sources.hpp"
#include "lens/bank_view.hpp"
#include "lens/explain.hpp"
#include "lens/ladder_roofline.hpp"

// What a record has of each structure; a key is the member's name.

namespace lapidary {

using Json = nlohmann::json;

static void to_json(Json& json, const GemmKind& kind) { json = to_string(kind); }
static void from_json(const Json& json, GemmKind& kind) { kind = parse_kind(json.get<std::string>()); }

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Extent3, x, y, z)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LaunchShape, grid, block, shared_bytes, cluster, overlaps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TileShape, m, n, k)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WarpAccess, address, active, bytes)

}  // namespace lapidary

namespace lapidary::emulator {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GlobalCounters, requests, sectors)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SharedCounters, instructions, wavefronts, minimum)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BulkCounters, requests, sectors, bytes, shared_bytes, multicast_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MmaCounters, instructions, flop)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WgmmaCounters, instructions, shared_bytes, flop)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Counters, global_load, global_store, global_atomic, async_copy, bulk_load,
                                   bulk_store, shared_load, shared_store, shared_atomic, cluster_load, cluster_store,
                                   cluster_atomic, mma, wgmma, fma)
NLOHMANN_JSON_SERIALIZE_ENUM(Access, {{Access::global_load, "global_load"},
                                      {Access::global_store, "global_store"},
                                      {Access::global_atomic, "global_atomic"},
                                      {Access::async_copy, "async_copy"},
                                      {Access::bulk_load, "bulk_load"},
                                      {Access::bulk_store, "bulk_store"},
                                      {Access::shared_load, "shared_load"},
                                      {Access::shared_store, "shared_store"},
                                      {Access::shared_atomic, "shared_atomic"},
                                      {Access::cluster_load, "cluster_load"},
                                      {Access::cluster_store, "cluster_store"},
                                      {Access::cluster_atomic, "cluster_atomic"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AccessSite, file, line, access, memory, bytes, instructions, lanes, units, lines,
                                   minimum, distinct_bytes, shared_bytes, multicast_bytes, worst)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report, total, sites, divergent_intervals, bytes_in_flight)

}  // namespace lapidary::emulator

namespace lapidary::lens {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Observation, written, compiled, launch, tiles, blocks, blocks_run)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RecordedObservation, kernel, M, N, K, observation)

namespace {

/// A RungInfo that has its texts.
struct Texts {
  std::string name, parent, idea, change, why, counter, cost, exercise;
  int architecture = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Texts, name, parent, idea, change, why, counter, cost, exercise, architecture)

struct RecordedKernel {
  TileShape tile{};
  GemmKind kind;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RecordedKernel, tile, kind)

/// TileOwners by rows of the tile: a thread, how many neighbours are its own, the next thread and so on.
struct Owners {
  TileShape tile{};
  int threads = 0;
  std::vector<std::vector<int>> rows;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Owners, tile, threads, rows)

/// A file.
struct Document {
  Texts info;
  std::string family, source, source_hash;
  std::vector<RecordedKernel> kernels;
  std::vector<RecordedObservation> observations;
  Owners owners;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Document, info, family, source, source_hash, kernels, observations, owners)

Texts texts_of(const RungInfo& i) {
  return {i.name, i.parent, i.idea, i.change, i.why, i.counter, i.cost, i.exercise, i.architecture};
}

std::shared_ptr<const RungInfo> info_of(Texts texts) {
  struct Both {
    Texts texts;
    RungInfo info;
  };
  const auto both = std::make_shared<Both>(Both{std::move(texts), {}});
  const Texts& t = both->texts;
  both->info = {t.name.c_str(),    t.parent.c_str(), t.idea.c_str(),     t.change.c_str(), t.why.c_str(),
                t.counter.c_str(), t.cost.c_str(),   t.exercise.c_str(), t.architecture};
  return {both, &both->info};
}

Owners by_rows(const TileOwners& owners) {
  Owners found{owners.tile, owners.threads, {}};
  for (int row = 0; row < owners.tile.m; ++row) {
    std::vector<int>& runs = found.rows.emplace_back();
    for (int col = 0; col < owners.tile.n; ++col) {
      const int thread = owners.thread(row, col);
      if (col == 0 || thread != runs[runs.size() - 2]) runs.insert(runs.end(), {thread, 0});
      ++runs.back();
    }
  }
  return found;
}

TileOwners by_elements(const Owners& owners) {
  constexpr std::int64_t most = 1 << 20;
  const std::int64_t elements = std::int64_t{owners.tile.m} * owners.tile.n;
  if (elements < 0 || elements > most)
    throw Error(fmt::format("a tile has {} elements; 0 to {} are legal", elements, most));
  TileOwners found{owners.tile, owners.threads, {}};
  std::int64_t given = 0;
  for (const std::vector<int>& runs : owners.rows)
    for (std::size_t i = 0; i + 1 < runs.size(); i += 2) {
      given += runs[i + 1];
      if (runs[i + 1] < 0 || given > elements)
        throw Error(fmt::format("owners are given of more than {} elements", elements));
      found.owner.insert(found.owner.end(), static_cast<std::size_t>(runs[i + 1]), runs[i]);
    }
  if (given != elements)
    throw Error(fmt::format("the owners of {} elements are given; the tile has {}", given, elements));
  return found;
}

/// Without what differs from run to run. Addresses of shared memory count from the first line of the banks that they
/// touch.
void make_repeatable(emulator::Report& report) {
  for (emulator::AccessSite& site : report.sites) {
    std::uint64_t line = ~std::uint64_t{0};
    for (int lane = 0; lane < 32; ++lane)
      if ((site.worst.active >> lane & 1) != 0) line = std::min(line, site.worst.address[lane] / 128 * 128);
    for (int lane = 0; lane < 32; ++lane) {
      const bool counts = !is_global(site.access) && (site.worst.active >> lane & 1) != 0;
      site.worst.address[lane] = counts ? site.worst.address[lane] - line : 0;
    }
  }
}

/// Indented; each site and each of the counters is a line.
void write(std::string& text, const Json& json, int depth = 0) {
  constexpr int deepest = 6;
  const bool nested = std::any_of(json.begin(), json.end(), [](const Json& inner) { return inner.is_structured(); });
  if (!nested || depth == deepest) {
    text += json.dump();
    return;
  }
  text += json.is_array() ? "[" : "{";
  const char* separator = "";
  for (const auto& [key, value] : json.items()) {
    text += fmt::format("{}\n{:{}}", separator, "", depth + 1);
    if (json.is_object()) text += fmt::format("\"{}\": ", key);
    write(text, value, depth + 1);
    separator = ",";
  }
  text += fmt::format("\n{:{}}{}", "", depth, json.is_array() ? "]" : "}");
}

RungRecord load(const OptionalRung& rung) {
  const std::string path = record_file(rung.name);
  const std::optional<std::string> text = read_file(data_file(path));
  if (!text)
    throw Error(fmt::format("{} cannot be read; a program that has {} writes it: lapidary report --record {}",
                            data_file(path).string(), rung.name, path.substr(0, path.rfind('/'))));
  return parse_record(*text, path);
}

/// Of the rungs that this program was built without.
const std::vector<RungRecord>& records() {
  static const std::vector<RungRecord> all = [] {
    std::vector<RungRecord> found;
    for (const OptionalRung& rung : optional_rungs())
      if (!rung.built) found.push_back(load(rung));
    return found;
  }();
  return all;
}

/// Null if the program has the rung.
const RungRecord* record_of(const Rung& rung) {
  const auto built = [&](const Rung& r) { return r.name() == rung.name(); };
  if (std::any_of(ladder().begin(), ladder().end(), built)) return nullptr;
  for (const RungRecord& record : records())
    if (record.rung.name() == rung.name()) return &record;
  return nullptr;
}

}  // namespace

std::string record_file(std::string_view rung) { return fmt::format("results/emulator/{}.json", rung); }

RungRecord record(const Rung& rung) {
  const KernelEntry& shown = rung.kernels.front();
  RungRecord found{rung, nullptr, std::string(rung_source_hash(rung.name())), {}, tile_owners(shown)};
  const auto add = [&](std::size_t kernel, std::int64_t M, std::int64_t N, std::int64_t K) -> const Observation& {
    Observation seen = observe(rung.kernels[kernel], {.kind = rung.kernels[kernel].kind, .M = M, .N = N, .K = K});
    make_repeatable(seen.written);
    make_repeatable(seen.compiled);
    found.observations.push_back({kernel, M, N, K, std::move(seen)});
    return found.observations.back().observation;
  };
  const Observation& page = add(0, page_size, page_size, page_size);
  if (shown.order.at || page.blocks != page.tiles || bank_views(page).empty())
    throw Error(
        fmt::format("{} cannot be recorded: its blocks must have one tile each, row by row, and access shared "
                    "memory; what pages show of others is not on record",
                    rung.name()));
  add(0, counted_size, counted_size, counted_size);
  for (std::size_t kernel = 0; kernel < rung.kernels.size(); ++kernel) {
    const auto& [tile, kind] = std::tie(rung.kernels[kernel].tile, rung.kernels[kernel].kind);
    if (kind != shown.kind) continue;
    for (const int steps : {roofline_steps, more_roofline_steps}) add(kernel, tile.m, tile.n, depth_of(tile, steps));
  }
  return found;
}

std::string to_text(const RungRecord& record) {
  const Rung& rung = record.rung;
  Document document{texts_of(*rung.info), rung.family,           rung.source, record.source_hash, {},
                    record.observations,  by_rows(record.owners)};
  for (const KernelEntry& kernel : rung.kernels) document.kernels.push_back({kernel.tile, kernel.kind});
  std::string text;
  write(text, document);
  return text + "\n";
}

RungRecord parse_record(std::string_view text, std::string_view name) {
  try {
    // get() would make some integer of a fraction, and of what no integer holds.
    const auto is_whole = [](int, Json::parse_event_t, const Json& value) {
      if (value.is_number_float()) throw Error(fmt::format("{} is no whole number", value.get<double>()));
      return true;
    };
    Document document = Json::parse(text, is_whole).get<Document>();
    RungRecord record{{},
                      info_of(std::move(document.info)),
                      std::move(document.source_hash),
                      std::move(document.observations),
                      by_elements(document.owners)};
    record.rung = {record.info.get(), std::move(document.family), std::move(document.source), {}};
    for (const RecordedKernel& kernel : document.kernels)
      record.rung.kernels.push_back({{.tile = kernel.tile, .kind = kernel.kind}, record.info->name, "", {}});
    return record;
  } catch (const std::exception& broken) {
    throw Error(fmt::format("{} is not what lapidary report --record writes: {}", name, broken.what()));
  }
}

const std::vector<std::reference_wrapper<const Rung>>& whole_ladder() {
  static const std::vector<std::reference_wrapper<const Rung>> rungs = [] {
    std::vector<std::reference_wrapper<const Rung>> all(ladder().begin(), ladder().end());
    auto record = records().begin();
    for (const OptionalRung& rung : optional_rungs())
      if (!rung.built) all.insert(all.begin() + static_cast<std::ptrdiff_t>(rung.place), (record++)->rung);
    return all;
  }();
  return rungs;
}

const Rung& known_rung(std::string_view name) {
  for (const OptionalRung& rung : optional_rungs())
    if (rung.name == name) return whole_ladder()[rung.place];
  return find_rung(name);
}

bool is_observable(const Rung& rung, const KernelEntry& kernel) {
  return kernel.builds[static_cast<std::size_t>(Build::instrumented)] || record_of(rung);
}

Observation observation_of(const Question& q) {
  const Problem& p = q.problem;
  const RungRecord* const record = record_of(*q.rung);
  if (!record) return observe(*q.kernel, p, q.gpu.sms);
  for (const auto& [kernel, M, N, K, observation] : record->observations)
    if (&record->rung.kernels[kernel] == q.kernel && M == p.M && N == p.N && K == p.K && !p.reads_c())
      return observation;
  std::string there;
  for (const RecordedObservation& seen : record->observations)
    there += fmt::format("{}{} x {} x {}", there.empty() ? "" : ", ", seen.M, seen.N, seen.K);
  throw InvalidArgument(fmt::format(
      "this program was built without {}; {}, from which it is told, has M x N x K = {}, with beta = 0, and not {} x "
      "{} x {}{}",
      q.rung->name(), record_file(q.rung->name()), there, p.M, p.N, p.K, p.reads_c() ? " with beta" : ""));
}

Observation observation_of_block(const Rung& rung, const KernelEntry& kernel) {
  const auto& [tile, kind] = std::tie(kernel.tile, kernel.kind);
  if (record_of(rung))
    return observation_of({&rung, &kernel, {.kind = kind, .M = page_size, .N = page_size, .K = page_size}, {}});
  return observe(kernel, {.kind = kind, .M = tile.m, .N = tile.n, .K = std::max(2 * tile.k, 1)});
}

TileOwners owners_of(const Rung& rung) {
  const RungRecord* const record = record_of(rung);
  return record ? record->owners : tile_owners(rung.kernels.front());
}

}  // namespace lapidary::lens
