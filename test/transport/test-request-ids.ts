import { systemClock, systemRandom } from "../../src/system.ts";
import { RequestIds } from "../../src/transport/request-ids.ts";

/** Names requests as a gateway without proxies does. */
export function testRequestIds(): RequestIds {
  return new RequestIds({ clock: systemClock, random: systemRandom, trustsProxy: false });
}
