import type { Message } from "@bufbuild/protobuf";
import { bindRequest } from "./bind-request.ts";
import type { ServiceRoutes } from "./route.ts";
import type { NoRoute, RouteMatch } from "./route-matcher.ts";
import { RouteMatcher } from "./route-matcher.ts";

/** Serves the generated routes of any number of services. Responses are made by the route's own `write`. */
export interface Transcoder {
  /**
   * Finds the route. HEAD and OPTIONS are served only if a rule names them; a trailing slash is another
   * path.
   *
   * @param path the URL's path as received, without the query
   */
  match(httpMethod: string, path: string): RouteMatch | NoRoute;
  /**
   * Builds the request message from path, query and body.
   *
   * @param query the raw query string, without `?`
   * @param body the parsed body; undefined when it is empty
   * @throws JsonFieldError
   */
  read(match: RouteMatch, query: string, body: unknown): Message;
}

/** @throws Error when two routes claim the same HTTP method and path */
export function createTranscoder(services: readonly ServiceRoutes[]): Transcoder {
  const matcher = new RouteMatcher(services.flatMap(({ routes }) => routes));
  return {
    match: (httpMethod, path) => matcher.match(httpMethod, path),
    read: ({ route, segments }, query, body) => route.read(bindRequest(route, segments, query, body)),
  };
}
