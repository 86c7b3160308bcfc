import { useMemo } from "react";
import { encode } from "uqr";

/** A QR code, black on white in every theme: some cameras cannot read inverted codes. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { size, path } = useMemo(() => qrPath(text), [text]);
  return (
    <svg
      className="qr"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}

/**
 * Draws each run of dark modules as one path segment. ISO/IEC 18004 requires a border of four modules. The
 * lowest error correction makes the modules largest, and a screen has no dirt to correct.
 */
function qrPath(text: string): { size: number; path: string } {
  const { size, data } = encode(text, { ecc: "L", border: 4 });
  let path = "";
  for (const [y, row] of data.entries()) {
    for (let x = 0; x < row.length; x += 1) {
      const start = x;
      while (row[x] === true) x += 1;
      if (x > start) path += `M${start} ${y}h${x - start}v1h${start - x}z`;
    }
  }
  return { size, path };
}
