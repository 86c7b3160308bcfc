/** Of which requests params and result are stored. */
export const REQUEST_BODIES = ["none", "errors", "all"] as const;

export type RequestBodies = (typeof REQUEST_BODIES)[number];

/** What an account keeps of its requests. */
export interface RequestLogSettings {
  readonly bodies: RequestBodies;
  /** How long requests are kept, 1 to 720 hours. */
  readonly hours: number;
}

export const DEFAULT_REQUEST_LOG: RequestLogSettings = { bodies: "none", hours: 168 };

/** Whether the text is a setting. */
export function isRequestBodies(text: string): text is RequestBodies {
  return REQUEST_BODIES.some((one) => one === text);
}
