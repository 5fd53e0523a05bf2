// The run-time's elements by their names, and the numbers of its errors, by standard, which the build reads from
// the server's table.
declare module "*/cmi.toml" {
  interface Element {
    type: string;
    access: "r" | "w" | "rw";
    range?: [number, number];
    values?: string[];
  }
  interface Version {
    errors: Record<"unknown" | "keyword" | "read_only" | "write_only" | "type" | "range", number>;
    elements: Record<string, Element>;
  }
  const table: { "1.2": Version; "2004": Version };
  export default table;
}
