#pragma once
#include <vector>

#include "lens/explanation.hpp"

namespace lapidary::lens {

/// The traffic of each matrix that the kernel reaches in global memory: A, B, C, D, and what else its launcher
/// allocates.
std::vector<MatrixTraffic> matrix_traffic(const Question& question, const emulator::Report& written);

/// Of A and B. @param matrices  of matrix_traffic()
std::vector<OperandReads> operand_reads(const Question& question, const std::vector<MatrixTraffic>& matrices);

/// By source line and width, in the order of the report.
std::vector<SharedTraffic> shared_traffic(const emulator::Report& written);

SharedLoads shared_loads(const Question& question, const Observation& observation);

}  // namespace lapidary::lens
