#pragma once
#include <string>

#include "bench/host_problem.hpp"
#include "bench/verify.hpp"
#include "cli/json_value.hpp"
#include "emulator/report.hpp"
#include "model/address_work.hpp"
#include "model/occupancy.hpp"

namespace lapidary::cli {

/// All counters.
Json counters_json(const emulator::Counters& counters);
/// One object for each source line, with the counters that are not 0.
Json lines_json(const emulator::Report& report);

/// Sizes, leading dimensions and factors of a resolved problem.
Json problem_json(const bench::RandomProblem& spec);

/// What a multiprocessor holds of a kernel, by each limit and in all.
Json occupancy_json(const model::Occupancy& occupancy);
/// What `explain` and `asm` say of address arithmetic.
Json addresses_json(const model::AddressWork& work);

/// Adds ok, max_error, bound, row, col, results, compared, wrong, outside and message.
void add_verification(Json& json, const bench::Verification& verification);

/// The same for a kernel that the emulated machine stopped: ok, max_error and bound, and the fault.
void add_fault(Json& json, const std::string& fault);

/// Indented by so many blanks; what is no UTF-8 in it becomes U+FFFD.
std::string text_of(const Json& json, int indent);
/// Writes a document to standard output.
void print(const Json& json);

}  // namespace lapidary::cli
