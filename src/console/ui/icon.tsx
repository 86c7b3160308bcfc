/** SVG paths on a 16 by 16 grid. */
const PATHS = {
  home: "M2.5 7 8 2.5 13.5 7v6a.5.5 0 0 1-.5.5H10V9.5H6v4H3a.5.5 0 0 1-.5-.5z",
  list: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01",
  key: "M9.5 9.5a3.5 3.5 0 1 0-3-3L2.5 10.5v3h3V12H7v-1.5h1.5zM11 5h.01",
  deposit: "M8 2.5v7M5 6.5l3 3 3-3M2.5 10v2.5a1 1 0 0 0 1 1h9a1 1 0 0 0 1-1V10",
  play: "M4.5 3v10l8-5z",
  tools: "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z",
  settings: "M2.5 4.5h6M11.5 4.5h2M2.5 11.5h2M7.5 11.5h6M10 3v3M6 10v3",
  gauge: "M2.5 12a6 6 0 1 1 11 0M8 10l3-3.5",
  people:
    "M6 7.5a2.25 2.25 0 1 0 0-4.5 2.25 2.25 0 0 0 0 4.5zM1.5 13c0-2.2 2-3.5 4.5-3.5s4.5 1.3 4.5 " +
    "3.5M10.5 3.2a2.25 2.25 0 0 1 0 4.2M12 9.8c1.5.4 2.5 1.6 2.5 3.2",
  inbox: "M2.5 9.5 4.5 3h7l2 6.5v3a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1zM2.5 9.5h3l1 1.5h3l1-1.5h3",
  log: "M4 2.5h6l2.5 2.5v8.5H4zM6 7.5h4.5M6 10.5h4.5",
  chart: "M2.5 13.5h11M4 11V8M8 11V3.5M12 11V6",
  sliders: "M4 2.5v4M4 9.5v4M2.5 8h3M8 2.5v6M8 11.5v2M6.5 10h3M12 2.5v2M12 7.5v6M10.5 6h3",
  copy: "M5.5 5.5h7v8h-7zM3.5 10.5v-8h7",
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  warn: "M8 2.5 14 13H2zM8 6.5v3M8 11.2h.01",
  info: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.5v3.5M8 5h.01",
  dot: "M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3l2 1.5",
  external: "M6.5 3.5h-4v10h10v-4M9.5 2.5h4v4M13.5 2.5 7.5 8.5",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5l3 3",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  wallet:
    "M2.5 4.5v8a1 1 0 0 0 1 1h9a1 1 0 0 0 1-1v-6a1 1 0 0 0-1-1h-9a1 1 0 0 1-1-1 1 1 0 0 1 1-1h8M11 9.5h.01",
  leave: "M6.5 2.5h-4v11h4M6.5 8h7M10.5 5l3 3-3 3",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1.5 1.5h-11zM6.5 14h3",
  chevron: "M6 4l4 4-4 4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
