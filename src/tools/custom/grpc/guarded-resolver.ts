import { experimental, Metadata, status, type ChannelOptions } from "@grpc/grpc-js";
import { ForbiddenAddressError, type Guard } from "../../../outbound/address-guard.ts";
import { guardedAddresses } from "../../../outbound/guarded-lookup.ts";

/** The scheme of targets whose names are looked up here. */
const SCHEME = "toolgate-guarded";

/** The channel option that carries a channel's guard. */
const GUARD = "toolgate.guard";

/** Least time between two look-ups, ms: while a server cannot be reached, each result makes grpc-js ask for another at once. */
const PAUSE_MS = 1_000;

/** Where grpc-js looks up names that only {@link Guard} lets it connect to, and the options that this needs. */
export function guardedTarget(address: string, guard: Guard): { target: string; options: ChannelOptions } {
  experimental.registerResolver(SCHEME, GuardedResolver);
  return {
    target: `${SCHEME}:${address.toLowerCase()}`,
    options: {
      [GUARD]: new GuardOption(guard),
      // A proxy of the environment would look up the name by itself.
      "grpc.enable_http_proxy": 0,
      // Channels of other backends, with guards of their own, must not share connections with this one.
      "grpc.use_local_subchannel_pool": 1,
    },
  };
}

/** A class, so that the resolver can tell what it finds among options of any type. */
class GuardOption {
  readonly guard: Guard;

  constructor(guard: Guard) {
    this.guard = guard;
  }
}

/**
 * Looks up names through the guard; grpc-js then connects to the very addresses that were looked at, and asks again when it has lost a
 * connection. The name stays what TLS asks the server to prove, and what :authority says.
 */
class GuardedResolver implements experimental.Resolver {
  readonly #host: string;
  readonly #port: number;
  readonly #guard: Guard;
  readonly #listener: experimental.ResolverListener;
  /** Which look-up counts; an older one's result is dropped. */
  #generation = 0;
  /** Runs until the name may be looked up again. */
  #pause: NodeJS.Timeout | undefined;
  /** Whether it is to be looked up as soon as that is so. */
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
    // Never before this method has returned, which is what grpc-js counts on.
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
