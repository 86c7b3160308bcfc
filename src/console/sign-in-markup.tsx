import { renderToStaticMarkup } from "react-dom/server";
import { SignInFrame } from "./sign-in-frame.tsx";

/** Returns the HTML of the sign-in page before its script runs; for the build. */
export function signInMarkup(): string {
  return renderToStaticMarkup(<SignInFrame />);
}
