import { isRequestBodies, type RequestLogSettings } from "../../domain/accounts/request-log.ts";

/** Settings of an account's log of requests in the view `account_limits`. */
export interface RequestLogRow {
  request_bodies: string;
  request_hours: number;
}

export function requestLogOf(row: RequestLogRow): RequestLogSettings | undefined {
  const { request_bodies: bodies, request_hours: hours } = row;
  return isRequestBodies(bodies) ? { bodies, hours } : undefined;
}
