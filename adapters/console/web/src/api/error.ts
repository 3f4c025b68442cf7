import type { components } from "./gateway.gen";

type ErrorBody = components["schemas"]["Error"];
export type Violation = components["schemas"]["Violation"];

/** What the gateway answers when it does not do what it was asked for. */
export class ApiError extends Error {
  override name = "ApiError";

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string,
    /** Every violation, where the request was not valid. */
    readonly details: Violation[] = [],
    readonly body?: ErrorBody,
  ) {
    super(message);
  }

  /** What is wrong with each field of a request, by its path. */
  get fields(): Record<string, string> {
    const found: Record<string, string> = {};
    for (const { field, message } of this.details) found[field] ??= message;
    return found;
  }
}

/** Reads the error of an answer. What comes from a proxy in between has no body of ours. */
export async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get("X-Request-Id") ?? "";
  try {
    const body = (await response.clone().json()) as ErrorBody;
    if (body.code) return new ApiError(response.status, body.code, body.message, body.requestId, body.details, body);
  } catch {
    // no JSON
  }
  return new ApiError(response.status, "no_answer", `${response.status} ${response.statusText}`.trim(), requestId);
}
