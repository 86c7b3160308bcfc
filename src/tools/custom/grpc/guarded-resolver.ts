import { experimental, Metadata, status, type ChannelOptions } from "@grpc/grpc-js";
import { ForbiddenAddressError, type Guard } from "../../../outbound/address-guard.ts";
import { guardedAddresses } from "../../../outbound/guarded-lookup.ts";

const SCHEME = "toolgate-guarded";

const GUARD = "toolgate.guard";

/** Minimum pause between lookups. While a server is down, grpc-js resolves again after each result. */
const PAUSE_MS = 1_000;

/** Returns a target whose addresses the {@link Guard} checks, with the channel options this requires. */
export function guardedTarget(address: string, guard: Guard): { target: string; options: ChannelOptions } {
  experimental.registerResolver(SCHEME, GuardedResolver);
  return {
    target: `${SCHEME}:${address.toLowerCase()}`,
    options: {
      [GUARD]: new GuardOption(guard),
      // A proxy would resolve the name itself.
      "grpc.enable_http_proxy": 0,
      // Channels with other guards must not share connections with this one.
      "grpc.use_local_subchannel_pool": 1,
    },
  };
}

/** A class, so that instanceof identifies it among untyped options. */
class GuardOption {
  readonly guard: Guard;

  constructor(guard: Guard) {
    this.guard = guard;
  }
}

/** Resolves names through the guard. The name itself stays the TLS server name and :authority. */
class GuardedResolver implements experimental.Resolver {
  readonly #host: string;
  readonly #port: number;
  readonly #guard: Guard;
  readonly #listener: experimental.ResolverListener;
  /** Results of older lookups are dropped. */
  #generation = 0;
  /** Set while another lookup must wait. */
  #pause: NodeJS.Timeout | undefined;
  /** A lookup was requested during the pause. */
  #wanted = false;

  constructor(
    target: experimental.GrpcUri,
    listener: experimental.ResolverListener,
    options: ChannelOptions,
  ) {
    const address = experimental.splitHostPort(target.path);
    const option: unknown = options[GUARD];
    if (!(option instanceof GuardOption) || address?.port === undefined)
      throw new TypeError("is made by guardedTarget");
    this.#host = address.host;
    this.#port = address.port;
    this.#guard = option.guard;
    this.#listener = listener;
  }

  static getDefaultAuthority(target: experimental.GrpcUri): string {
    return target.path;
  }

  updateResolution(): void {
    if (this.#pause) {
      this.#wanted = true;
      return;
    }
    this.#wanted = false;
    this.#pause = setTimeout(() => this.#resume(), PAUSE_MS).unref();
    const generation = this.#generation;
    // Asynchronous: grpc-js requires that this method returns first.
    guardedAddresses(this.#guard, this.#host).then(
      (addresses) => generation === this.#generation && this.#succeed(addresses),
      (error: unknown) => generation === this.#generation && this.#fail(error),
    );
  }

  destroy(): void {
    this.#generation += 1;
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.#wanted = false;
  }

  #resume(): void {
    this.#pause = undefined;
    if (this.#wanted) this.updateResolution();
  }

  #succeed(addresses: readonly string[]): void {
    const endpoints = addresses.map((address) => ({ addresses: [{ host: address, port: this.#port }] }));
    this.#listener(experimental.statusOrFromValue(endpoints), {}, null, "");
  }

  #fail(error: unknown): void {
    const forbidden = error instanceof ForbiddenAddressError;
    const code = forbidden ? status.PERMISSION_DENIED : status.UNAVAILABLE;
    const message = error instanceof Error ? error.message : String(error);
    const details = forbidden ? message : `${this.#host} cannot be looked up: ${message}`;
    this.#listener(experimental.statusOrFromError({ code, details, metadata: new Metadata() }), {}, null, "");
  }
}
