import type { Caller } from "../domain/caller.ts";
import type { RateDecision } from "../domain/rate-limit.ts";
import type { RemotePeer } from "./remote-address.ts";
import type { Endpoint } from "./services/service-impl.ts";

/** Decides who may come in. What keys open and what sessions open have gates of their own: neither is taken at the other's. */
export interface RequestAuthenticator {
  /**
   * @param demand what the method asks for
   * @throws ToolgateError UNAUTHORIZED, FORBIDDEN; RateLimitedError
   */
  authenticate(demand: Endpoint["key"], credentials: Credentials): Promise<Authentication>;
}

/** A caller that was let in. */
export interface Authentication {
  /** Undefined where nobody has to be known, and nobody is. */
  readonly caller: Caller | undefined;
  /** What is left of the caller's rate; undefined without a caller. */
  readonly rate: RateDecision | undefined;
  /** Who is in front of the page; undefined where no pages are served. */
  readonly client?: ClientInfo;
}

/** What a request shows at the door. */
export interface Credentials extends RemotePeer {
  /** The Authorization header or metadata (specification 5), as sent; undefined when absent. */
  readonly authorization: string | undefined;
  /** What tells pages apart; undefined over gRPC. */
  readonly page?: PageRequest;
}

/** What a browser says of the page that a request comes from. Headers are as sent, and undefined when absent. */
export interface PageRequest {
  readonly method: string;
  readonly host: string | undefined;
  readonly cookie: string | undefined;
  /** Origin (Fetch standard). */
  readonly origin: string | undefined;
  /** Sec-Fetch-Site (Fetch Metadata). */
  readonly site: string | undefined;
  readonly userAgent: string | undefined;
}

/** Who is in front of the console, signed in or not. */
export interface ClientInfo {
  /** The client's address, as far as proxies are trusted. */
  readonly address: string;
  /** What is counted by: the address, or the network that it stands for. */
  readonly network: string;
  readonly userAgent: string;
}
