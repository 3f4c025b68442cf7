// receive takes an event in; what it returns is answered with 2xx. The gateway delivers
// it again until then, and at times after that too.
export function receive({ id, type, data }, messageId, seen) {
  const { again } = seen.do(messageId, () => { // the same in every delivery of the message
    console.log(`webhook ${type} ${id} ${data?.runId ?? ""}`);
  });
  if (again) {
    console.log(`webhook again ${messageId}`);
  }
}
