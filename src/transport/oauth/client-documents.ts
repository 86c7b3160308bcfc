import { objectOf, parsedJson } from "../../domain/core/json.ts";
import { openGuardedFetch, type OpenFetch } from "../../outbound/guarded-fetch.ts";
import type { Network } from "../../outbound/address-guard.ts";
import { readClientMetadata } from "./client-metadata.ts";

/** Largest metadata document of a client, bytes. */
const MAX_BYTES = 32 * 1024;

/**
 * Returns what reads the metadata document of a client for the library: only what is used of it.
 * @param network where such documents may be
 */
export function documentReader(
  network: Network,
  open: (options: { network: Network; maxBytes: number }) => Pick<OpenFetch, "fetch"> = openGuardedFetch,
): (url: string, signal: AbortSignal) => Promise<Response> {
  let opened: Pick<OpenFetch, "fetch"> | undefined;
  return async (url, signal) => {
    opened ??= open({ network, maxBytes: MAX_BYTES });
    const answer = await opened.fetch(url, { headers: { accept: "application/json" }, signal });
    if (answer.status !== 200) {
      await answer.body?.cancel();
      return new Response(null, { status: answer.status === 204 ? 502 : answer.status });
    }
    const document = objectOf(parsedJson(await answer.text()));
    const { metadata } = readClientMetadata(document, "none");
    const cached = answer.headers.get("cache-control");
    return Response.json(
      { ...metadata, client_id: document["client_id"] },
      { headers: cached === null ? {} : { "cache-control": cached } },
    );
  };
}
