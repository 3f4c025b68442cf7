// runLead answers a call of the gateway: {type: "run", payload} or {type: "heartbeat"}.
export function runLead(call, key, done) {
  if (call.type === "heartbeat") {
    console.log("heartbeat");
    return { success: true };
  }
  if (call.type !== "run" || call.payload.nodeType !== "score_lead") {
    return failure("node_type_unknown", `There is nothing here that runs ${call.payload?.nodeType}.`);
  }
  // Every attempt at this node in this run bears the same key. Whoever honours it has
  // the effect once, however often the gateway has to ask.
  const { answer, again } = done.do(key, () => score(call.payload));
  if (again) {
    console.log(`asked again for ${call.payload.runId}`);
  }
  return answer;
}

// score has the effect.
function score({ runId, inputs: { company, employees }, config: { reviewFrom, reviewTo } }) {
  if (!company) {
    return failure("company_missing", "A lead needs a company.");
  }
  const points = Math.min(100, Math.round(25 * Math.log10(employees + 1)));
  if (points >= reviewFrom && points < reviewTo) {
    console.log(`paused ${runId}: ${company} has ${points} points, which a person has to look at`);
    return { paused: true, event: "lead.reviewed", timeoutMs: 24 * 60 * 60 * 1000 };
  }
  console.log(`scored ${runId}: ${company} has ${points} points`);
  return { success: true, data: { score: points, grade: points >= reviewTo ? "hot" : "cold" } };
}

function failure(code, message) {
  return { success: false, error: { code, message, retryable: false } };
}
