// The coastlines of the world, for maps: they are part of the console, so maps need no internet.
import type { Data } from '@observablehq/plot'
import { feature } from 'topojson-client'
import type { Topology } from 'topojson-specification'
import atlas from 'world-atlas/land-110m.json'

export function land(): Data {
  const topology = atlas as unknown as Topology
  return feature(topology, topology.objects['land']!) as unknown as Data
}
