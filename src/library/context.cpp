#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/refusal.hpp"
#include "device/prepared.hpp"
#include "kernels/finishing.hpp"
#include "kernels/packing.hpp"
#include "kernels/registry.hpp"
#include "lapidary/gemm.hpp"
#include "library/canonical.hpp"
#include "library/plan_data.hpp"

namespace lapidary {
namespace {

using library::PackedMatrix;
using library::PlanData;

/// What a plan is found by.
struct PlanKey {
  Problem problem;
  GemmOptions options;

  bool operator==(const PlanKey&) const = default;
};
struct PlanKeyHash {
  std::size_t operator()(const PlanKey& key) const {
    const Problem& p = key.problem;
    std::size_t hash = std::hash<std::string>()(key.options.kernel);
    // Sizes and leading dimensions tell most problems apart; the others are told apart by ==.
    for (const std::int64_t value : {p.M, p.N, p.K, p.lda, p.ldb, p.ldc, p.ldd, p.batch.count,
                                     static_cast<std::int64_t>(p.kind.type), static_cast<std::int64_t>(p.beta)})
      hash = (hash ^ static_cast<std::size_t>(value)) * 0x9e3779b97f4a7c15ULL;
    return hash ^ hash >> 32;
  }
};

const void* advanced(const void* data, std::int64_t elements, Type type) {
  return data ? static_cast<const std::byte*>(data) + elements * size_of(type) : nullptr;
}

/// Those of one product of a batch.
Operands operands_of(const Problem& p, const Operands& first, std::int64_t product) {
  // Strides of matrices that are not read may be any.
  const auto offset = [&](Matrix matrix, std::int64_t stride) {
    const bool unread = shape_of(p, matrix).empty() || (matrix == Matrix::C && !p.reads_c());
    return unread ? 0 : product * stride;
  };
  Operands o = first;
  o.A = advanced(first.A, offset(Matrix::A, p.batch.stride_a), p.kind.type);
  o.B = advanced(first.B, offset(Matrix::B, p.batch.stride_b), p.kind.type);
  o.C = advanced(first.C, offset(Matrix::C, p.batch.stride_c), p.kind.result);
  o.D = const_cast<void*>(advanced(first.D, offset(Matrix::D, p.batch.stride_d), p.kind.result));
  o.residual = advanced(first.residual, p.epilogue.residual ? product * p.batch.stride_residual : 0, p.kind.result);
  return o;
}

/// Copies that the plan has for A or B in the place of these.
Operands with_prepared(const PlanData& plan, Operands operands) {
  for (const auto& [matrix, place, copy] :
       {std::tuple(Matrix::A, &operands.A, operands.prepared_a), {Matrix::B, &operands.B, operands.prepared_b}}) {
    if (!library::prepared_copy(plan, matrix)) continue;
    const bool aligned = reinterpret_cast<std::uintptr_t>(copy) % library::workspace_alignment == 0;
    if (!copy || !aligned)
      throw Refusal(RefusalId::prepared_copy,
                    fmt::format("the copy of {} is {}; the plan asks for one that prepare() has made, at a "
                                "multiple of {} bytes",
                                name_of(matrix), copy, library::workspace_alignment));
    *place = copy;
  }
  return operands;
}

}  // namespace

struct Context::State {
  // Beyond these everything of a kind is dropped and made anew.
  static constexpr std::size_t most_plans = 4096, most_launches = 4096;

  State(Device& device_, const library::BuiltInCard& card_) : device(device_), card(card_) {
    if (const char* const file = std::getenv("LAPIDARY_LOG"); file && *file) log = file;
  }

  std::shared_ptr<const Prepared> prepared(const Plan& plan, Build build, const Stream& stream);
  void* workspace(const Stream& stream, std::size_t bytes);
  void write_log(const Plan& plan) const;

  Device& device;
  const library::BuiltInCard& card;
  std::shared_mutex mutex;
  std::unordered_map<PlanKey, Plan, PlanKeyHash> plans;
  struct Launches {
    Plan plan;  ///< which keeps what it is found by
    std::array<std::shared_ptr<const Prepared>, 3> by_build;
  };
  std::unordered_map<const PlanData*, Launches> launches;
  std::map<std::pair<void*, void*>, DeviceBuffer> workspaces;  ///< by the members of a stream
  std::string log;                                             ///< a file, "-" for standard error, empty for none
  std::mutex turn;  ///< of those who use an emulated machine, or a workspace of the context
};

std::shared_ptr<const Prepared> Context::State::prepared(const Plan& plan, Build build, const Stream& stream) {
  const auto place = static_cast<std::size_t>(build);
  {
    const std::shared_lock lock(mutex);
    if (const auto found = launches.find(&plan.data()); found != launches.end() && found->second.by_build[place])
      return found->second.by_build[place];
  }
  const library::Way& way = plan.data().way;
  auto made = std::make_shared<const Prepared>(
      lapidary::prepare(*way.kernel->kernel, build, way.problem, card_of(stream)));
  const std::unique_lock lock(mutex);
  if (launches.size() >= most_launches) launches.clear();
  launches.try_emplace(&plan.data(), Launches{plan, {}}).first->second.by_build[place] = made;
  return made;
}

void* Context::State::workspace(const Stream& stream, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::unique_lock lock(mutex);
  const std::pair<void*, void*> key(stream.machine, stream.cuda);
  auto found = workspaces.find(key);
  if (found != workspaces.end() && found->second.bytes() < bytes) {
    workspaces.erase(found);
    found = workspaces.end();
  }
  if (found == workspaces.end()) found = workspaces.emplace(key, DeviceBuffer(device, bytes, "workspace")).first;
  return found->second.data();
}

void Context::State::write_log(const Plan& plan) const {
  if (log.empty()) return;
  const std::string line = fmt::format("{}: {}\n", plan.id(), plan.why());
  // In one piece, so that lines of several threads and programs stay whole. What cannot be written is not.
  std::FILE* const file = log == "-" ? stderr : std::fopen(log.c_str(), "a");
  if (!file) return;
  std::fwrite(line.data(), 1, line.size(), file);
  if (file != stderr) std::fclose(file);
}

Context::Context(Device& device, std::string_view card) {
  const DeviceProperties properties = device.properties();
  const bool own = card.empty() && device.kind() == DeviceKind::gpu;
  state_ = std::make_unique<State>(device, own ? library::card_of_device(properties.name, properties.compute_capability)
                                               : library::find_card(card.empty() ? "H200" : card));
}
Context::~Context() = default;

const std::string& Context::card() const { return state_->card.gpu.name; }

Plan Context::plan(const Problem& problem, const GemmOptions& options) {
  const PlanKey key = {resolved(problem), options};
  {
    const std::shared_lock lock(state_->mutex);
    if (const auto found = state_->plans.find(key); found != state_->plans.end()) return found->second;
  }
  Plan made = lapidary::plan(problem, card(), options);
  const std::unique_lock lock(state_->mutex);
  if (state_->plans.size() >= State::most_plans) state_->plans.clear();
  const auto [place, is_new] = state_->plans.emplace(key, std::move(made));
  if (is_new) state_->write_log(place->second);
  return place->second;
}

void Context::prepare(const Plan& plan, const Stream& stream, Matrix matrix, const void* from, void* to) {
  const PackedMatrix* const copy = library::prepared_copy(plan.data(), matrix);
  if (!copy)
    throw Refusal(
        RefusalId::prepared_none,
        fmt::format("the plan takes {} as it is; prepare what GemmOptions::prepared names and the plan copies",
                    name_of(matrix)));
  const auto require = [&](const void* address, const char* name, unsigned alignment) {
    if (!address || reinterpret_cast<std::uintptr_t>(address) % alignment != 0)
      throw Refusal(RefusalId::prepared_copy,
                    fmt::format("{} is {}; it must be a multiple of {} bytes", name, address, alignment));
  };
  require(from, "from", static_cast<unsigned>(size_of(copy->packing.type)));
  require(to, "to", library::workspace_alignment);
  std::unique_lock turn(state_->turn, std::defer_lock);
  if (stream.machine) turn.lock();
  pack(build_for(stream), stream, copy->packing, from, to);
}

void Context::run(const Plan& plan, const Stream& stream, const Operands& given, void* workspace) {
  const PlanData& data = plan.data();
  const Operands asked = with_prepared(data, given);
  validate(data.problem, asked);
  const Batch& batch = data.problem.batch;
  if (data.problem.epilogue.residual && batch.count > 1 && asked.residual == asked.D &&
      batch.stride_residual != batch.stride_d)
    throw Refusal(RefusalId::in_place_stride,
                  fmt::format("D is the residual, and begins every {} elements; the residual must as well, and does "
                              "every {}",
                              batch.stride_d, batch.stride_residual));
  if (!data.way.kernel) return;
  // By the BLAS's rule neither A nor B is read where alpha is 0, whatever is there.
  if (asked.alpha == 0 && data.problem.alpha == Factor::any && data.problem.K > 0) {
    Problem without_products = data.problem;
    without_products.alpha = Factor::zero;
    return run(this->plan(without_products), stream, asked, workspace);
  }
  if (plan.workspace_bytes() > 0 && reinterpret_cast<std::uintptr_t>(workspace) % library::workspace_alignment != 0)
    throw Refusal(RefusalId::workspace_alignment,
                  fmt::format("the workspace is at {}; its address must be a multiple of {}", workspace,
                              library::workspace_alignment));
  // A workspace of the stream is one launch's until the last one that uses it is on its way.
  std::unique_lock turn(state_->turn, std::defer_lock);
  if (stream.machine || (!workspace && plan.workspace_bytes() > 0)) turn.lock();
  const Build build = build_for(stream);
  const std::shared_ptr<const Prepared> prepared = state_->prepared(plan, build, stream);
  if (!workspace) workspace = state_->workspace(stream, plan.workspace_bytes());
  const Problem problem = library::with_row_major_results(data.problem);
  const Operands first = library::with_row_major_results(data.problem, asked);
  const auto packed = [&](const std::optional<PackedMatrix>& copy, const void* from, bool again) -> const void* {
    if (!copy || copy->prepared) return from;
    void* const to = static_cast<std::byte*>(workspace) + copy->at;
    if (again) pack(build, stream, copy->packing, from, to);
    return to;
  };
  for (std::int64_t product = 0; product < problem.batch.count; ++product) {
    Operands o = operands_of(problem, first, product);
    o.A = packed(data.way.a, o.A, product == 0 || problem.batch.stride_a != 0);
    o.B = packed(data.way.b, o.B, product == 0 || problem.batch.stride_b != 0);
    if (!data.way.finishing) {
      prepared->launch(stream, o);
      continue;
    }
    const library::Finishing& finishing = *data.way.finishing;
    void* const sums = finishing.in_d ? o.D : static_cast<std::byte*>(workspace) + finishing.at;
    prepared->launch(stream, {.A = o.A, .B = o.B, .D = sums});
    finish(build, stream, finishing.problem, static_cast<const float*>(sums), data.way.problem.ldd, o);
  }
}

void Context::run(const Plan& plan, const Stream& stream, std::span<const Operands> products, void* workspace) {
  for (const Operands& operands : products) validate(plan.problem(), operands);
  for (const Operands& operands : products) run(plan, stream, operands, workspace);
}

void Context::clear() {
  const std::unique_lock lock(state_->mutex);
  state_->plans.clear();
  state_->launches.clear();
  state_->workspaces.clear();
}

}  // namespace lapidary
