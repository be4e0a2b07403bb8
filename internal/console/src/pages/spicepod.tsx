export default () => <h1>spicepod</h1>
